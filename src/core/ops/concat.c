/* concat: joins tensors along an axis. Section 3.2.2, the heads of multi-head attention.
 *
 *     x_1 … x_k: equal sizes except along the axis, at most MAX_INPUTS tensors
 *     y: the same, with the sum of their sizes along that axis
 *
 *   | y_{…start_p+i…} = x_p{…i…}      start_p = Σ of the sizes along the axis of those before x_p
 *
 * Backward. Each element of x is one of y and gets its gradient:
 *
 *   | dx_p{…i…} += dy_{…start_p+i…}
 *
 * Forward keeps the axis. */
#include "ops/axis.h"
#include <string.h>

/* exercise: begin */
static void forward(Node *n) {
    const Axis *a = n->attr;
    long start = 0;
    for (int p = 0; p < n->inputs; p++) {
        long part = n->in[p]->shape.size[a->axis] * a->inner;
        for (long o = 0; o < a->outer; o++)
            memcpy(n->out->data + o * a->n * a->inner + start, n->in[p]->data + o * part,
                   (size_t)part * sizeof(real));
        start += part;
    }
}

/* Adds to an input's gradient its columns of dy: `part` of each row, from `start`. */
static void add_part(const Node *n, real *grad, long part, long start) {
    const Axis *a = n->attr;
    for (long o = 0; o < a->outer; o++) {
        const real *dy = n->out->grad + o * a->n * a->inner + start;
        real *dx = grad + o * part;
        for (long i = 0; i < part; i++) dx[i] += dy[i];
    }
}

static void backward(Node *n) {
    const Axis *a = n->attr;
    long start = 0;
    for (int p = 0; p < n->inputs; p++) {
        long part = n->in[p]->shape.size[a->axis] * a->inner;
        if (n->in[p]->grad) add_part(n, n->in[p]->grad, part, start);
        start += part;
    }
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
    {"middle axis",
     three_middle,
     {{"a", DIMS(2, 1, 3)}, {"b", DIMS(2, 2, 3)}, {"c", DIMS(2, 3, 3)}}},
    {"strided",
     two_last,
     {{"a", DIMS(3, 2), .layout = TRANSPOSED}, {"b", DIMS(3, 4), .layout = STEPPED}}},
    {"repeated", two_first, {{"a", DIMS(2, 3), .layout = REPEATED}, {"b", DIMS(2, 3)}}},
    {"one tensor twice", two_last, {{"a", DIMS(3, 2)}, {"a", .same_as = 1}}},
    {"as many as there may be", eight, {{"a", DIMS(1, 2)}, {"b", DIMS(2, 2)}}},
    {"constant part", two_last, {{"a", DIMS(3, 2)}, {"b", DIMS(3, 2), .constant = true}}},
    {"one part", one, {{"a", DIMS(3, 2)}}},
    {"empty part", two_last, {{"a", DIMS(3, 2)}, {"b", DIMS(3, 0)}}},
    {"empty", two_first, {{"a", DIMS(2, 0)}, {"b", DIMS(1, 0)}}},
};

const Op op_concat = {"concat", forward, backward, .arguments = axis_print, CASES(cases)};

Tensor *tape_concat(Tape *t, int axis, int count, Tensor *const x[]) {
    WANT(x);
    if (count < 1 || count > MAX_INPUTS)
        error_bug("concat: %d tensors, want 1 to %d", count, MAX_INPUTS);
    op_want("concat", t, count, x);
    Tensor *part[MAX_INPUTS] = {tape_contiguous(t, x[0])};
    Shape out = x[0]->shape;
    axis = shape_axis("concat", out, axis);
    for (int p = 1; p < count; p++) {
        Shape like = x[p]->shape;
        if (like.rank == out.rank) like.size[axis] = out.size[axis];
        if (!shape_equal(like, out))
            error_bug("concat: argument %d is %s, want %s except along axis %d", p + 1,
                      shape_text(x[p]->shape), shape_text(x[0]->shape), axis);
        out.size[axis] += x[p]->shape.size[axis];
        part[p] = tape_contiguous(t, x[p]);
    }
    Node *n = tape_node(t, &op_concat, out, count, part);
    *(Axis *)node_attr(n, sizeof(Axis)) = axis_of("concat", out, axis);
    return tape_forward(n);
}
