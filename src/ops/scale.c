/* scale: every element times a constant. Section 3.2.1, scores times 1/√d_k.
 *
 *     x: any shape; factor: a number      y: the same shape
 *
 *     y_i = factor · x_i
 *
 * Backward. The slope is the factor, which has no gradient:
 *
 *     dx_i += factor · dy_i
 *
 * Forward keeps the factor. */
#include "ops/arguments.h"
#include "ops/ops.h"

typedef struct Attr {
    real factor;
} Attr;

/* exercise: begin */
static void forward(Node *n) {
    real *y = n->out->data, factor = ((Attr *)n->attr)->factor;
    long count = shape_count(n->out->shape);
    tensor_copy_out(n->in[0], y);
    for (long i = 0; i < count; i++) y[i] *= factor;
}

static void backward(Node *n) {
    const real *dy = n->out->grad;
    real *dx = n->in[0]->grad, factor = ((Attr *)n->attr)->factor;
    long count = shape_count(n->out->shape);
    for (long i = 0; i < count; i++) dx[i] += factor * dy[i];
}

static void arguments(const Node *n, FILE *out) {
    print_number(out, "factor", (double)((const Attr *)n->attr)->factor);
}
/* exercise: end */

BUILD_CASE(by_minus_half, tape_scale(t, x[0], (real)-0.5))
BUILD_CASE(by_zero, tape_scale(t, x[0], 0))

static const CheckCase cases[] = {
    {"matrix", by_minus_half, {{"x", DIMS(3, 4)}}},
    {"by zero", by_zero, {{"x", DIMS(3, 4)}}},
    {"strided", by_minus_half, {{"x", DIMS(3, 4), .layout = TRANSPOSED}}},
    {"repeated", by_minus_half, {{"x", DIMS(3, 4), .layout = REPEATED}}},
    {"scalar", by_minus_half, {{"x", {0}}}},
    {"empty", by_minus_half, {{"x", DIMS(2, 0)}}},
};

const Op op_scale = {"scale", forward, backward, .arguments = arguments, CASES(cases)};

Tensor *tape_scale(Tape *t, Tensor *x, real factor) {
    Node *n = tape_node(t, &op_scale, x->shape, INPUTS(x));
    *(Attr *)node_attr(n, sizeof(Attr)) = (Attr){factor};
    return tape_record(n);
}
