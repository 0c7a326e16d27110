/* tanh: the hyperbolic tangent of every element, a smooth step from -1 to 1.
 *
 *     x: any shape      y: the same
 *
 *     y_i = (e^x_i - e^-x_i) / (e^x_i + e^-x_i)
 *
 * Backward. With c = e^x + e^-x and s = e^x - e^-x, ∂y/∂x = (c² - s²) / c²:
 *
 *     dx_i += dy_i (1 - y_i²)
 *
 * Forward keeps only y.
 *
 * Numerical note: beyond |x| = 9 (19 in double) y rounds to ±1 and the slope to 0, which is within ε of the
 * true one. */
#include "kernels/vector_math.h"
#include "ops/ops.h"

/* exercise: begin */
static void forward(Node *n) {
    real *y = n->out->data;
    long count = shape_count(n->out->shape);
    tensor_copy_out(n->in[0], y);
    for (long i = 0; i < count; i++) y[i] = vm_tanh(y[i]);
}

static void backward(Node *n) {
    const real *y = n->out->data, *dy = n->out->grad;
    real *dx = n->in[0]->grad;
    long count = shape_count(n->out->shape);
    for (long i = 0; i < count; i++) dx[i] += dy[i] * (1 - y[i] * y[i]);
}
/* exercise: end */

BUILD_CASE(build, tape_tanh(t, x[0]))

static const CheckCase cases[] = {
    {"matrix", build, {{"x", DIMS(3, 4)}}},
    {"near zero", build, {{"x", DIMS(6), -1e-3, 1e-3}}},
    {"saturated", build, {{"x", DIMS(8), -1000, 1000}}, .flat = true},
    {"strided", build, {{"x", DIMS(3, 4), .layout = TRANSPOSED}}},
    {"scalar", build, {{"x", {0}}}},
    {"empty", build, {{"x", DIMS(2, 0)}}},
};

const Op op_tanh = {"tanh", forward, backward, CASES(cases)};

Tensor *tape_tanh(Tape *t, Tensor *x) {
    return tape_record(tape_node(t, &op_tanh, x->shape, INPUTS(x)));
}
