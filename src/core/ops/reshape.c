/* reshape: the same elements in row-major order, under another shape: a view.
 *
 *     x: any shape      y: any shape of as many elements, sharing x's memory
 *
 *   | y_i = x_i      i counts the elements of both in row-major order
 *
 * Backward. Gradients are contiguous, so that dx and dy have the same order:
 *
 *   | dx_i += dy_i
 *
 * A view needs elements in row-major order: `contiguous` first copies an x with other strides. */
#include "kernels/arrays.h"
#include "ops/ops.h"

/* exercise: begin */
static void backward(Node *n) {
    Tensor *x = n->in[0];
    if (x->grad)
        kernel_scale_to(shape_count(x->shape), 1, n->out->grad, x->grad, tensor_grad_adds(x));
}

static void arguments(const Node *n, FILE *out) {
    fprintf(out, "\"s\": %s", shape_text(n->out->shape));
}
/* exercise: end */

BUILD_CASE(flat, tape_reshape(t, x[0], SHAPE(shape_count(x[0]->shape))))
BUILD_CASE(to_two_by_six, tape_reshape(t, x[0], SHAPE(2, 6)))
BUILD_CASE(to_scalar, tape_reshape(t, x[0], SCALAR))

/* exercise: begin */
static Tensor *used_before(Tape *t, Tensor **x) {
    Tensor *y = tape_exp(t, x[0]);
    Tensor *first = tape_mul(t, y, y);
    return tape_mul(t, tape_reshape(t, y, SHAPE(8, 4)), tape_reshape(t, first, SHAPE(8, 4)));
}
/* exercise: end */

static const CheckCase cases[] = {
    {"flat", flat, {{"x", DIMS(3, 4)}}},
    {"split", to_two_by_six, {{"x", DIMS(3, 4)}}},
    {"strided", to_two_by_six, {{"x", DIMS(3, 4), .layout = TRANSPOSED}}},
    {"stepped", flat, {{"x", DIMS(3, 4), .layout = STEPPED}}},
    {"repeated", flat, {{"x", DIMS(3, 4), .layout = REPEATED}}},
    {"scalar to one", flat, {{"x", {0}}}},
    {"one to scalar", to_scalar, {{"x", DIMS(1, 1)}}},
    /* exercise: begin */
    {"used twice", used_before, {{"x", DIMS(4, 8)}}},
    /* exercise: end */
    {"empty", flat, {{"x", DIMS(3, 0)}}},
};

const Op op_reshape = {
    "reshape",   .backward = backward, .view = true, .stores_fresh = true, .arguments = arguments,
    CASES(cases)};

Tensor *tape_reshape(Tape *t, Tensor *x, Shape s) {
    op_want("reshape", t, INPUTS(x));
    if (shape_count(s) != shape_count(x->shape))
        error_bug("reshape: x is %s, want as many elements as %s", shape_text(x->shape),
                  shape_text(s));
    long stride[MAX_RANK];
    tensor_contiguous_strides(s, stride);
    return tape_forward(tape_view(t, &op_reshape, tape_contiguous(t, x), s, stride, 0));
}
