/* sum: the sum along an axis, or of all elements.
 *
 *     x: any shape      y: the same with size 1 along the axis, or a scalar with ALL_AXES
 *
 *   | y_o = Σ_i x_oi      over i along the axis, for every index o of the other axes
 *
 * Backward. Each x_oi is in one sum, with slope 1: the transpose of broadcasting.
 *
 *   | dx_oi += dy_o
 *
 * Forward keeps nothing.
 *
 * Numerical note: the sum is computed in double and rounded once, so that in float it is exact to
 * its last digit. The sum of no elements is 0. */
#include "ops/axis.h"

/* exercise: begin */
static void forward(Node *n) {
    const Axis *a = n->attr;
    for (long line = 0; line < axis_lines(a); line++)
        n->out->data[line] = (real)axis_sum(a, n->in[0]->data + axis_line(a, line));
}

static void backward(Node *n) {
    const Axis *a = n->attr;
    for (long line = 0; line < axis_lines(a); line++)
        axis_add(a, n->in[0]->grad + axis_line(a, line), n->out->grad[line]);
}
/* exercise: end */

REDUCTION_BUILDS(sum)

static const CheckCase cases[] = {
    REDUCTION_CASES,
    {"repeated", first_axis, {{"x", DIMS(3, 4), .layout = REPEATED}}},
    {"of nothing", last_axis, {{"x", DIMS(3, 0)}}},
    {"all of nothing", all_axes, {{"x", DIMS(3, 0)}}},
    {"no sums", last_axis, {{"x", DIMS(0, 3)}}},
};

const Op op_sum = {"sum", forward, backward, .arguments = axis_print, CASES(cases)};

Tensor *tape_sum(Tape *t, Tensor *x, int axis) {
    return tape_forward(reduction_node(t, &op_sum, x, axis));
}
