/* transpose: a view of x with two axes swapped.
 *
 *     x: [… n_a … n_b …]      y: [… n_b … n_a …], sharing x's memory
 *
 *   | y_{…j…i…} = x_{…i…j…}
 *
 * Backward. Each y is one x and gives it its gradient:
 *
 *   | dx_{…i…j…} += dy_{…j…i…}
 *
 * The gradient of y has memory of its own, contiguous in y's shape. */
#include "ops/ops.h"

typedef struct Attr {
    int a, b;
} Attr;

static void swap(long *values, const Attr *axes) {
    long kept = values[axes->a];
    values[axes->a] = values[axes->b];
    values[axes->b] = kept;
}

/* exercise: begin */
static void backward(Node *n) {
    const real *dy = n->out->grad;
    real *dx = n->in[0]->grad;
    long dx_stride[MAX_RANK];
    tensor_contiguous_strides(n->in[0]->shape, dx_stride);
    swap(dx_stride, n->attr);
    for (Walk w = tensor_walk(n->out->shape, 1, (const long *[]){dx_stride}); tensor_walk_row(&w);
         dy += w.n)
        for (long i = 0; i < w.n; i++) dx[w.at[0] + i * w.step[0]] += dy[i];
}

static void arguments(const Node *n, FILE *out) {
    const Attr *axes = n->attr;
    fprintf(out, "\"a\": %d, \"b\": %d", axes->a, axes->b);
}
/* exercise: end */

BUILD_CASE(last_two, tape_transpose(t, x[0], -2, -1))
BUILD_CASE(outer_two, tape_transpose(t, x[0], 0, 1))

static const CheckCase cases[] = {
    {"matrix", last_two, {{"x", DIMS(3, 4)}}},
    {"batched", last_two, {{"x", DIMS(2, 3, 4)}}},
    {"outer axes", outer_two, {{"x", DIMS(2, 3, 4)}}},
    {"strided", last_two, {{"x", DIMS(3, 4), .layout = STEPPED}}},
    {"one row", last_two, {{"x", DIMS(1, 4)}}},
    {"empty", last_two, {{"x", DIMS(0, 4)}}},
};

const Op op_transpose = {"transpose", .backward = backward, .view = true, .arguments = arguments,
                         CASES(cases)};

Tensor *tape_transpose(Tape *t, Tensor *x, int a, int b) {
    op_want("transpose", t, INPUTS(x));
    Attr axes = {shape_axis("transpose", x->shape, a), shape_axis("transpose", x->shape, b)};
    Shape shape = x->shape;
    long stride[MAX_RANK];
    for (int i = 0; i < shape.rank; i++) stride[i] = x->stride[i];
    swap(shape.size, &axes);
    swap(stride, &axes);
    Node *n = tape_view(t, &op_transpose, x, shape, stride, 0);
    *(Attr *)node_attr(n, sizeof axes) = axes;
    return tape_forward(n);
}
