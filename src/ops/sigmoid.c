/* sigmoid: the logistic function of every element, a smooth step from 0 to 1.
 *
 *     x: any shape      y: the same
 *
 *     y_i = 1 / (1 + e^-x_i)
 *
 * Backward. ∂y/∂x = e^-x / (1 + e^-x)², where e^-x / (1 + e^-x) = 1 - y:
 *
 *     dx_i += dy_i y_i (1 - y_i)
 *
 * Forward keeps only y.
 *
 * Numerical note: a small y keeps all its digits. Above x = 17 (37 in double) y rounds to 1 and the slope to 0, which is
 * within ε of the true one. */
#include "kernels/vector_math.h"
#include "ops/ops.h"

/* exercise: begin */
static void forward(Node *n) {
    real *y = n->out->data;
    long count = shape_count(n->out->shape);
    tensor_copy_out(n->in[0], y);
    for (long i = 0; i < count; i++) y[i] = vm_sigmoid(y[i]);
}

static void backward(Node *n) {
    const real *y = n->out->data, *dy = n->out->grad;
    real *dx = n->in[0]->grad;
    long count = shape_count(n->out->shape);
    for (long i = 0; i < count; i++) dx[i] += dy[i] * y[i] * (1 - y[i]);
}
/* exercise: end */

BUILD_CASE(build, tape_sigmoid(t, x[0]))

static const CheckCase cases[] = {
    {"matrix", build, {{"x", DIMS(3, 4)}}},
    {"saturated", build, {{"x", DIMS(8), -1000, 1000}}, .flat = true},
    {"strided", build, {{"x", DIMS(3, 4), .layout = TRANSPOSED}}},
    {"scalar", build, {{"x", {0}}}},
    {"empty", build, {{"x", DIMS(2, 0)}}},
};

const Op op_sigmoid = {"sigmoid", forward, backward, CASES(cases)};

Tensor *tape_sigmoid(Tape *t, Tensor *x) {
    return tape_record(tape_node(t, &op_sigmoid, x->shape, INPUTS(x)));
}
