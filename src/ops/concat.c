/* concat: joins tensors along an axis. Section 3.2.2, the heads of multi-head attention.
 *
 *     x_1 … x_k: equal sizes except along the axis, at most MAX_INPUTS tensors
 *     y: the same, with the sum of their sizes along that axis
 *
 *     y_{…start_p+i…} = x_p{…i…}      start_p = Σ of the sizes along the axis of those before x_p
 *
 * Backward. Each element of x is one of y and gets its gradient:
 *
 *     dx_p{…i…} += dy_{…start_p+i…}
 *
 * Forward keeps the axis. */
#include "ops/ops.h"

typedef struct Attr {
    int axis;
} Attr;

enum { WALK_X, WALK_DX, WALK_Y };

/* exercise: begin */
/* Walks x_p, its gradient and its part of y, which begins at element *start; advances *start to the next
 * part. */
static Walk part_walk(const Node *n, int p, long *start) {
    const Tensor *x = n->in[p];
    int axis = ((const Attr *)n->attr)->axis;
    long dx_stride[MAX_RANK];
    tensor_contiguous_strides(x->shape, dx_stride);
    *start += x->shape.size[axis] * n->out->stride[axis];
    return tensor_walk(x->shape, 3, (const long *[]){x->stride, dx_stride, n->out->stride});
}

static void forward(Node *n) {
    long start = 0;
    for (int p = 0; p < n->inputs; p++) {
        const real *x = n->in[p]->data;
        real *y = n->out->data + start;
        for (Walk w = part_walk(n, p, &start); tensor_walk_row(&w);)
            for (long i = 0; i < w.n; i++)
                y[w.at[WALK_Y] + i * w.step[WALK_Y]] = x[w.at[WALK_X] + i * w.step[WALK_X]];
    }
}

static void backward(Node *n) {
    long start = 0;
    for (int p = 0; p < n->inputs; p++) {
        const real *dy = n->out->grad + start;
        real *dx = n->in[p]->grad;
        for (Walk w = part_walk(n, p, &start); dx && tensor_walk_row(&w);)
            for (long i = 0; i < w.n; i++)
                dx[w.at[WALK_DX] + i * w.step[WALK_DX]] += dy[w.at[WALK_Y] + i * w.step[WALK_Y]];
    }
}

static void arguments(const Node *n, FILE *out) {
    fprintf(out, "\"axis\": %d", ((const Attr *)n->attr)->axis);
}
/* exercise: end */

BUILD_CASE(two_last, tape_concat(t, -1, INPUTS(x[0], x[1])))
BUILD_CASE(two_first, tape_concat(t, 0, INPUTS(x[0], x[1])))
BUILD_CASE(three_middle, tape_concat(t, 1, INPUTS(x[0], x[1], x[2])))
BUILD_CASE(one, tape_concat(t, 0, INPUTS(x[0])))
BUILD_CASE(eight, tape_concat(t, 0, INPUTS(x[0], x[1], x[0], x[1], x[0], x[1], x[0], x[1])))

static const CheckCase cases[] = {
    {"last axis", two_last, {{"a", DIMS(3, 2)}, {"b", DIMS(3, 4)}}},
    {"first axis", two_first, {{"a", DIMS(1, 4)}, {"b", DIMS(2, 4)}}},
    {"middle axis", three_middle, {{"a", DIMS(2, 1, 3)}, {"b", DIMS(2, 2, 3)}, {"c", DIMS(2, 3, 3)}}},
    {"strided", two_last, {{"a", DIMS(3, 2), .layout = TRANSPOSED}, {"b", DIMS(3, 4), .layout = STEPPED}}},
    {"repeated", two_first, {{"a", DIMS(2, 3), .layout = REPEATED}, {"b", DIMS(2, 3)}}},
    {"one tensor twice", two_last, {{"a", DIMS(3, 2)}, {"a", .same_as = 1}}},
    {"as many as there may be", eight, {{"a", DIMS(1, 2)}, {"b", DIMS(2, 2)}}},
    {"constant part", two_last, {{"a", DIMS(3, 2)}, {"b", DIMS(3, 2), .constant = true}}},
    {"one part", one, {{"a", DIMS(3, 2)}}},
    {"empty part", two_last, {{"a", DIMS(3, 2)}, {"b", DIMS(3, 0)}}},
    {"empty", two_first, {{"a", DIMS(2, 0)}, {"b", DIMS(1, 0)}}},
};

const Op op_concat = {"concat", forward, backward, .arguments = arguments, CASES(cases)};

Tensor *tape_concat(Tape *t, int axis, int count, Tensor *const x[]) {
    if (count < 1 || count > MAX_INPUTS) error_bug("concat: %d tensors, want 1 to %d", count, MAX_INPUTS);
    Attr a = {shape_axis("concat", x[0]->shape, axis)};
    Shape out = x[0]->shape;
    for (int p = 1; p < count; p++) {
        Shape like = x[p]->shape;
        if (like.rank == out.rank) like.size[a.axis] = out.size[a.axis];
        if (!shape_equal(like, out))
            error_bug("concat: argument %d is %s, want %s except along axis %d", p + 1,
                      shape_text(x[p]->shape), shape_text(x[0]->shape), a.axis);
        out.size[a.axis] += x[p]->shape.size[a.axis];
    }
    Node *n = tape_node(t, &op_concat, out, count, x);
    *(Attr *)node_attr(n, sizeof a) = a;
    return tape_record(n);
}
