/* square: the square of every element.
 *
 *     x: any shape      y: the same
 *
 *     y_i = x_i²
 *
 * Backward.
 *
 *     dx_i += 2 x_i dy_i
 *
 * Forward keeps nothing; backward reads x. */
#include "ops/ops.h"

/* exercise: begin */
static void forward(Node *n) {
    real *y = n->out->data;
    long count = shape_count(n->out->shape);
    tensor_copy_out(n->in[0], y);
    for (long i = 0; i < count; i++) y[i] *= y[i];
}

static void backward(Node *n) {
    const real *x = n->in[0]->data, *dy = n->out->grad;
    real *dx = n->in[0]->grad;
    for (Walk w = tensor_walk_over(n->in[0]); tensor_walk_row(&w); dx += w.n, dy += w.n)
        for (long i = 0; i < w.n; i++) dx[i] += 2 * x[w.at[0] + i * w.step[0]] * dy[i];
}
/* exercise: end */

BUILD_CASE(build, tape_square(t, x[0]))

static const CheckCase cases[] = {
    {"matrix", build, {{"x", DIMS(3, 4)}}},
    {"strided", build, {{"x", DIMS(3, 4), .layout = TRANSPOSED}}},
    {"stepped", build, {{"x", DIMS(2, 3, 4), .layout = STEPPED}}},
    {"repeated", build, {{"x", DIMS(3, 4), .layout = REPEATED}}},
    {"scalar", build, {{"x", {0}}}},
    {"empty", build, {{"x", DIMS(2, 0)}}},
};

const Op op_square = {"square", forward, backward, CASES(cases)};

Tensor *tape_square(Tape *t, Tensor *x) {
    return tape_record(tape_node(t, &op_square, x->shape, INPUTS(x)));
}
