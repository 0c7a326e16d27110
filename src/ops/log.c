/* log: the natural logarithm of every element.
 *
 *     x: any shape, elements > 0      y: the same shape
 *
 *     y_i = ln x_i
 *
 * Backward.
 *
 *     dx_i += dy_i / x_i
 *
 * Forward keeps nothing; backward reads x.
 *
 * Numerical note: x = 0 gives -∞ and an infinite slope, x < 0 gives NaN, as in libm. For the logarithm of a
 * softmax use log_softmax, where no weight can underflow first. */
#include "kernels/vector_math.h"
#include "ops/ops.h"

/* exercise: begin */
static void forward(Node *n) {
    real *y = n->out->data;
    long count = shape_count(n->out->shape);
    tensor_copy_out(n->in[0], y);
    for (long i = 0; i < count; i++) y[i] = vm_log(y[i]);
}

static void backward(Node *n) {
    const real *x = n->in[0]->data, *dy = n->out->grad;
    real *dx = n->in[0]->grad;
    for (Walk w = tensor_walk_over(n->in[0]); tensor_walk_row(&w); dx += w.n, dy += w.n)
        for (long i = 0; i < w.n; i++) dx[i] += dy[i] / x[w.at[0] + i * w.step[0]];
}
/* exercise: end */

BUILD_CASE(build, tape_log(t, x[0]))

static const CheckCase cases[] = {
    {"matrix", build, {{"x", DIMS(3, 4), 0.2, 4}}},
    {"near zero", build, {{"x", DIMS(6), 1e-4, 2e-4}}},
    {"large", build, {{"x", DIMS(6), 1e3, 1e4}}},
    {"strided", build, {{"x", DIMS(3, 4), 0.2, 4, .layout = STEPPED}}},
    {"repeated", build, {{"x", DIMS(3, 4), 0.2, 4, .layout = REPEATED}}},
    {"scalar", build, {{"x", {0}, 0.2, 4}}},
    {"empty", build, {{"x", DIMS(2, 0), 0.2, 4}}},
};

const Op op_log = {"log", forward, backward, CASES(cases)};

Tensor *tape_log(Tape *t, Tensor *x) {
    return tape_record(tape_node(t, &op_log, x->shape, INPUTS(x)));
}
