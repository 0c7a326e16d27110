/* sqrt: the square root of every element.
 *
 *     x: any shape, elements > 0      y: the same shape
 *
 *     y_i = √x_i
 *
 * Backward. ∂y/∂x = 1 / (2√x), and forward has computed the root:
 *
 *     dx_i += dy_i / (2 y_i)
 *
 * Forward keeps only y.
 *
 * Numerical note: the slope is infinite at x = 0, and y is NaN for x < 0. If x can be 0, as a variance
 * can, add a small constant first: √(x + ε), not √x + ε. */
#include "ops/ops.h"
#include <tgmath.h>

/* exercise: begin */
static void forward(Node *n) {
    real *y = n->out->data;
    long count = shape_count(n->out->shape);
    tensor_copy_out(n->in[0], y);
    for (long i = 0; i < count; i++) y[i] = sqrt(y[i]);
}

static void backward(Node *n) {
    const real *y = n->out->data, *dy = n->out->grad;
    real *dx = n->in[0]->grad;
    long count = shape_count(n->out->shape);
    for (long i = 0; i < count; i++) dx[i] += dy[i] / (2 * y[i]);
}
/* exercise: end */

BUILD_CASE(build, tape_sqrt(t, x[0]))

static const CheckCase cases[] = {
    {"matrix", build, {{"x", DIMS(3, 4), 0.2, 4}}},
    {"near zero", build, {{"x", DIMS(6), 1e-4, 2e-4}}},
    {"strided", build, {{"x", DIMS(3, 4), 0.2, 4, .layout = TRANSPOSED}}},
    {"scalar", build, {{"x", {0}, 0.2, 4}}},
    {"empty", build, {{"x", DIMS(2, 0), 0.2, 4}}},
};

const Op op_sqrt = {"sqrt", forward, backward, CASES(cases)};

Tensor *tape_sqrt(Tape *t, Tensor *x) {
    return tape_record(tape_node(t, &op_sqrt, x->shape, INPUTS(x)));
}
