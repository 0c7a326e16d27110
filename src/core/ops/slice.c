/* slice: a view of the elements from start up to stop along an axis.
 *
 *     x: [… n …]; 0 ≤ start ≤ stop ≤ n      y: [… stop - start …], sharing x's memory
 *
 *   | y_{…i…} = x_{…start+i…}
 *
 * Backward. Each y is one x; elements outside the slice get no gradient:
 *
 *   | dx_{…start+i…} += dy_{…i…}
 *
 * Forward keeps axis and start. The gradient of y has memory of its own, contiguous in y's shape.
 * */
#include "ops/ops.h"

typedef struct Attr {
    int axis;
    long start;
} Attr;

/* exercise: begin */
static void backward(Node *n) {
    const Attr *a = n->attr;
    const real *dy = n->out->grad;
    long dx_stride[MAX_RANK];
    tensor_contiguous_strides(n->in[0]->shape, dx_stride);
    real *dx = n->in[0]->grad + a->start * dx_stride[a->axis];
    for (Walk w = tensor_walk(n->out->shape, 1, (const long *[]){dx_stride}); tensor_walk_row(&w);
         dy += w.n)
        for (long i = 0; i < w.n; i++) dx[w.at[0] + i * w.step[0]] += dy[i];
}

static void arguments(const Node *n, FILE *out) {
    const Attr *a = n->attr;
    fprintf(out, "\"axis\": %d, \"start\": %ld, \"stop\": %ld", a->axis, a->start,
            a->start + n->out->shape.size[a->axis]);
}
/* exercise: end */

BUILD_CASE(middle_columns, tape_slice(t, x[0], -1, 1, 3))
BUILD_CASE(last_rows, tape_slice(t, x[0], 0, 1, x[0]->shape.size[0]))
BUILD_CASE(whole, tape_slice(t, x[0], 1, 0, x[0]->shape.size[1]))
BUILD_CASE(nothing, tape_slice(t, x[0], 0, 2, 2))
/* exercise: begin */
BUILD_CASE(overlapping, tape_mul(t, tape_slice(t, x[0], 1, 0, 3), tape_slice(t, x[0], 1, 1, 4)))
/* exercise: end */

static const CheckCase cases[] = {
    {"columns", middle_columns, {{"x", DIMS(3, 4)}}},
    {"rows", last_rows, {{"x", DIMS(3, 4)}}},
    {"whole", whole, {{"x", DIMS(2, 3, 4)}}},
    /* exercise: begin */
    {"overlapping", overlapping, {{"x", DIMS(3, 4)}}},
    /* exercise: end */
    {"strided", middle_columns, {{"x", DIMS(3, 4), .layout = TRANSPOSED}}},
    {"stepped", last_rows, {{"x", DIMS(3, 4), .layout = STEPPED}}},
    {"repeated", middle_columns, {{"x", DIMS(3, 4), .layout = REPEATED}}},
    {"one row, none left", last_rows, {{"x", DIMS(1, 4)}}},
    {"empty slice", nothing, {{"x", DIMS(3, 4)}}},
    {"of nothing", middle_columns, {{"x", DIMS(0, 4)}}},
};

const Op op_slice = {"slice", .backward = backward, .view = true, .arguments = arguments,
                     CASES(cases)};

Tensor *tape_slice(Tape *t, Tensor *x, int axis, long start, long stop) {
    op_want("slice", t, INPUTS(x));
    Attr a = {shape_axis("slice", x->shape, axis), start};
    Shape shape = x->shape;
    if (start < 0 || start > stop || stop > shape.size[a.axis])
        error_bug("slice: [%ld,%ld) along axis %d of %s, want a part of [0,%ld)", start, stop, axis,
                  shape_text(shape), shape.size[a.axis]);
    shape.size[a.axis] = stop - start;
    Node *n = tape_view(t, &op_slice, x, shape, x->stride, start * x->stride[a.axis]);
    *(Attr *)node_attr(n, sizeof a) = a;
    return tape_forward(n);
}
