/* exp: the exponential of every element.
 *
 *     x: any shape      y: the same
 *
 *     y_i = e^x_i
 *
 * Backward. The exponential is its own derivative, and forward has computed it:
 *
 *     dx_i += dy_i y_i
 *
 * Numerical note: above x = 88.7 (709.8 in double) the result is infinite, as in libm. */
#include "kernels/vector_math.h"
#include "ops/ops.h"

/* exercise: begin */
static void forward(Node *n) {
    real *y = n->out->data;
    long count = shape_count(n->out->shape);
    tensor_copy_out(n->in[0], y);
    for (long i = 0; i < count; i++) y[i] = vm_exp(y[i]);
}

static void backward(Node *n) {
    const real *y = n->out->data, *dy = n->out->grad;
    real *dx = n->in[0]->grad;
    long count = shape_count(n->out->shape);
    for (long i = 0; i < count; i++) dx[i] += dy[i] * y[i];
}
/* exercise: end */

BUILD_CASE(build, tape_exp(t, x[0]))

static const CheckCase cases[] = {
    {"matrix", build, {{"x", DIMS(3, 4)}}},
    {"small and large", build, {{"x", DIMS(8), -20, 20}}},
    {"strided", build, {{"x", DIMS(3, 4), .layout = TRANSPOSED}}},
    {"scalar", build, {{"x", {0}}}},
    {"empty", build, {{"x", DIMS(2, 0)}}},
};

const Op op_exp = {"exp", forward, backward, CASES(cases)};

Tensor *tape_exp(Tape *t, Tensor *x) {
    return tape_record(tape_node(t, &op_exp, x->shape, INPUTS(x)));
}
