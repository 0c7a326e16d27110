/* contiguous: the same elements in row-major order, for operations whose loops need them so.
 *
 *     x: any shape, any strides      y: the same shape, contiguous
 *
 *   | y_i = x_i
 *
 * Backward. Each y is one x:
 *
 *   | dx_i += dy_i
 *
 * A contiguous input is returned itself, and nothing is recorded. */
#include "kernels/arrays.h"
#include "ops/ops.h"

/* exercise: begin */
static void forward(Node *n) {
    tensor_copy_out(n->in[0], n->out->data);
}

static void backward(Node *n) {
    Tensor *x = n->in[0];
    if (x->grad)
        kernel_scale_to(shape_count(x->shape), 1, n->out->grad, x->grad, tensor_grad_adds(x));
}
/* exercise: end */

BUILD_CASE(build, tape_contiguous(t, x[0]))

/* exercise: begin */
/* A contiguous x is returned itself; multiplied by itself it gets both gradients. */
BUILD_CASE(build_used_twice, tape_mul(t, tape_contiguous(t, x[0]), x[0]))
BUILD_CASE(build_of_a_view, tape_exp(t, tape_contiguous(t, tape_transpose(t, x[0], 0, 1))))
/* exercise: end */

static const CheckCase cases[] = {
    {"transposed", build, {{"x", DIMS(3, 4), .layout = TRANSPOSED}}},
    {"stepped", build, {{"x", DIMS(2, 3, 4), .layout = STEPPED}}},
    {"repeated", build, {{"x", DIMS(3, 4), .layout = REPEATED}}},
    /* exercise: begin */
    {"used twice", build_used_twice, {{"x", DIMS(3, 4), .layout = TRANSPOSED}}},
    {"of a view", build_of_a_view, {{"x", DIMS(8, 4)}}},
    {"already contiguous", build_used_twice, {{"x", DIMS(3, 4)}}},
    {"empty", build_used_twice, {{"x", DIMS(3, 0)}}},
    /* exercise: end */
};

const Op op_contiguous = {"contiguous", forward, backward, .stores_fresh = true, CASES(cases)};

Tensor *tape_contiguous(Tape *t, Tensor *x) {
    op_want("contiguous", t, INPUTS(x));
    if (tensor_contiguous(x)) return x;
    return tape_forward(tape_node(t, &op_contiguous, x->shape, INPUTS(x)));
}
