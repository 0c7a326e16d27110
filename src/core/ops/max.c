/* max: the largest element along an axis, or of all.
 *
 *     x: any shape, at least one element to choose from
 *     y: the same with size 1 along the axis, or a scalar with ALL_AXES
 *
 *   | y_o = max_i x_oi      over i along the axis, for every index o of the other axes
 *
 * Backward. y depends on the largest element alone. If several are the largest, the first of them
 * gets the whole gradient, as in PyTorch's max along an axis:
 *
 *   | dx_oi += dy_o      where i is the first with x_oi = y_o
 *
 * Forward keeps only y; backward compares to find the element again.
 *
 * Numerical note: the maximum of a line with a NaN is NaN, which equals no element: the line gets
 * no gradient. */
#include "ops/axis.h"

/* exercise: begin */
static void forward(Node *n) {
    const Axis *a = n->attr;
    for (long line = 0; line < axis_lines(a); line++) {
        const real *x = n->in[0]->data + axis_line(a, line);
        real max = -INFINITY;
        for (long i = 0; i < a->n; i++)
            if (x[i * a->inner] > max || isnan(x[i * a->inner])) max = x[i * a->inner];
        n->out->data[line] = max;
    }
}

/* The offset of the first element of a line that equals its maximum; -1 if none does. */
static long winner(const Node *n, long line) {
    const Axis *a = n->attr;
    long start = axis_line(a, line);
    for (long i = 0; i < a->n; i++) {
        long at = start + i * a->inner;
        if (n->in[0]->data[at] == n->out->data[line]) return at;
    }
    return -1;
}

static void backward(Node *n) {
    for (long line = 0; line < axis_lines(n->attr); line++) {
        long place = winner(n, line);
        if (place >= 0) n->in[0]->grad[place] += n->out->grad[line];
    }
}

static uint64_t branches(const Node *n) {
    uint64_t hash = 0;
    for (long line = 0; line < axis_lines(n->attr); line++)
        hash = branch_hash(hash, winner(n, line));
    return hash;
}
/* exercise: end */

REDUCTION_BUILDS(max)

static const double tied[] = {1, 2, 2, 0, 3, 3};

static const CheckCase cases[] = {
    REDUCTION_CASES,
    {"all negative", last_axis, {{"x", DIMS(3, 4), -2, -1, .distinct = true}}},
    {"no maxima", last_axis, {{"x", DIMS(0, 3)}}},
    {"ties", last_axis, {{"x", DIMS(2, 3), .values = tied}}, .kinks = true},
};

const Op op_max = {"max",       forward, backward, .branches = branches, .arguments = axis_print,
                   CASES(cases)};

Tensor *tape_max(Tape *t, Tensor *x, int axis) {
    Node *n = reduction_node(t, &op_max, x, axis);
    if (((const Axis *)n->attr)->n == 0)
        error_bug("max: x is %s, want at least one element to choose from", shape_text(x->shape));
    return tape_forward(n);
}
