/* neg: the negative of every element.
 *
 *     x: any shape      y: the same
 *
 *     y_i = -x_i
 *
 * Backward. The slope is -1 everywhere:
 *
 *     dx_i -= dy_i
 *
 * Forward keeps nothing. */
#include "ops/ops.h"

/* exercise: begin */
static void forward(Node *n) {
    real *y = n->out->data;
    long count = shape_count(n->out->shape);
    tensor_copy_out(n->in[0], y);
    for (long i = 0; i < count; i++) y[i] = -y[i];
}

static void backward(Node *n) {
    const real *dy = n->out->grad;
    real *dx = n->in[0]->grad;
    long count = shape_count(n->out->shape);
    for (long i = 0; i < count; i++) dx[i] -= dy[i];
}
/* exercise: end */

BUILD_CASE(build, tape_neg(t, x[0]))

static const CheckCase cases[] = {
    {"matrix", build, {{"x", DIMS(3, 4)}}},
    {"strided", build, {{"x", DIMS(3, 4), .layout = TRANSPOSED}}},
    {"scalar", build, {{"x", {0}}}},
    {"empty", build, {{"x", DIMS(2, 0)}}},
};

const Op op_neg = {"neg", forward, backward, CASES(cases)};

Tensor *tape_neg(Tape *t, Tensor *x) {
    return tape_record(tape_node(t, &op_neg, x->shape, INPUTS(x)));
}
