/* masked_fill: a fixed value wherever a mask is set. Section 3.2.3: masked scores become -∞ before
 * the softmax.
 *
 *     x: any shape; mask: bytes of a shape that broadcasts to x's, 0 or not 0; value: a number
 *     y: as x
 *
 *   | y_i = value if mask_i, else x_i
 *
 * Backward. A masked element does not depend on x:
 *
 *   | dx_i += dy_i      if not mask_i
 *
 * `mask` is the caller's, contiguous in mask_shape, and must live unchanged until backward has run.
 * */
#include "ops/arguments.h"
#include "ops/ops.h"
#include <math.h>

typedef struct Attr {
    const uint8_t *mask;
    long stride[MAX_RANK]; /* of mask, in bytes, along the axes of x */
    real value;
} Attr;

/* exercise: begin */
static void forward(Node *n) {
    const Attr *a = n->attr;
    const uint8_t *mask = a->mask;
    real *y = n->out->data;
    tensor_copy_out(n->in[0], y);
    for (Walk w = tensor_walk(n->out->shape, 1, (const long *[]){a->stride}); tensor_walk_row(&w);
         y += w.n)
        for (long i = 0; i < w.n; i++) y[i] = mask[w.at[0] + i * w.step[0]] ? a->value : y[i];
}

static void backward(Node *n) {
    const Attr *a = n->attr;
    const uint8_t *mask = a->mask;
    const real *dy = n->out->grad;
    real *dx = n->in[0]->grad;
    Walk w = tensor_walk(n->out->shape, 1, (const long *[]){a->stride});
    while (tensor_walk_row(&w)) {
        for (long i = 0; i < w.n; i++) dx[i] += mask[w.at[0] + i * w.step[0]] ? 0 : dy[i];
        dx += w.n;
        dy += w.n;
    }
}

static void arguments(const Node *n, FILE *out) {
    const Attr *a = n->attr;
    const char *comma = "";
    fprintf(out, "\"mask\": [");
    for (Walk w = tensor_walk(n->out->shape, 1, (const long *[]){a->stride}); tensor_walk_row(&w);)
        for (long i = 0; i < w.n; i++) {
            fprintf(out, "%s%d", comma, a->mask[w.at[0] + i * w.step[0]] != 0);
            comma = ", ";
        }
    fprintf(out, "], ");
    print_number(out, "value", (double)a->value);
}
/* exercise: end */

static const uint8_t bits[] = {0, 1, 0, 0, 255, 0, 1, 1, 0, 0, 0, 1};

BUILD_CASE(full, tape_masked_fill(t, x[0], bits, SHAPE(3, 4), -7))
BUILD_CASE(row, tape_masked_fill(t, x[0], bits, SHAPE(4), 0))
BUILD_CASE(column, tape_masked_fill(t, x[0], bits, SHAPE(3, 1), 3))
BUILD_CASE(everything, tape_masked_fill(t, x[0], bits + 1, SCALAR, 1))
/* exercise: begin */
BUILD_CASE(hidden_from_softmax,
           tape_softmax(t, tape_masked_fill(t, x[0], bits, SHAPE(3, 4), (real)-INFINITY), -1))
/* exercise: end */

static const CheckCase cases[] = {
    {"full", full, {{"x", DIMS(3, 4)}}},
    {"row for all", row, {{"x", DIMS(2, 3, 4)}}},
    {"column for all", column, {{"x", DIMS(2, 3, 4)}}},
    {"everything", everything, {{"x", DIMS(3, 4)}}},
    /* exercise: begin */
    {"hidden from softmax", hidden_from_softmax, {{"x", DIMS(3, 4)}}},
    /* exercise: end */
    {"strided", full, {{"x", DIMS(3, 4), .layout = TRANSPOSED}}},
    {"repeated", full, {{"x", DIMS(3, 4), .layout = REPEATED}}},
    {"scalar", everything, {{"x", {0}}}},
    {"empty", row, {{"x", DIMS(0, 4)}}},
};

const Op op_masked_fill = {"masked_fill", forward, backward, .arguments = arguments, CASES(cases)};

Tensor *tape_masked_fill(Tape *t, Tensor *x, const uint8_t *mask, Shape mask_shape, real value) {
    op_want("masked_fill", t, INPUTS(x));
    if (!shape_equal(shape_broadcast("masked_fill", x->shape, mask_shape), x->shape))
        error_bug("masked_fill: the mask is %s, want a shape that broadcasts to %s",
                  shape_text(mask_shape), shape_text(x->shape));
    if (shape_count(mask_shape)) WANT(mask);
    Node *n = tape_node(t, &op_masked_fill, x->shape, INPUTS(x));
    Attr *a = node_attr(n, sizeof *a);
    long contiguous[MAX_RANK];
    tensor_contiguous_strides(mask_shape, contiguous);
    tensor_broadcast_strides(mask_shape, contiguous, x->shape, a->stride);
    a->mask = mask;
    a->value = value;
    return tape_forward(n);
}
