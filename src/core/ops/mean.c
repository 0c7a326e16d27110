/* mean: the mean along an axis, or of all elements.
 *
 *     x: any shape      y: the same with size 1 along the axis, or a scalar with ALL_AXES
 *
 *   | y_o = 1/n Σ_i x_oi      over the n elements i along the axis
 *
 * Backward. Each x_oi is in one mean, with slope 1/n:
 *
 *   | dx_oi += dy_o / n
 *
 * Forward keeps nothing.
 *
 * Numerical note: the sum is computed in double and rounded once, after the division. The mean of
 * no elements is 0/0: NaN. */
#include "ops/axis.h"

/* exercise: begin */
static void forward(Node *n) {
    const Axis *a = n->attr;
    for (long line = 0; line < axis_lines(a); line++)
        n->out->data[line] =
            (real)(axis_sum(a, n->in[0]->data + axis_line(a, line)) / (double)a->n);
}

static void backward(Node *n) {
    const Axis *a = n->attr;
    for (long line = 0; line < axis_lines(a); line++)
        axis_add(a, n->in[0]->grad + axis_line(a, line), n->out->grad[line] / (real)a->n);
}
/* exercise: end */

REDUCTION_BUILDS(mean)

static const CheckCase cases[] = {
    REDUCTION_CASES,
    {"repeated", first_axis, {{"x", DIMS(3, 4), .layout = REPEATED}}},
    {"no means", last_axis, {{"x", DIMS(0, 3)}}},
};

const Op op_mean = {"mean", forward, backward, .arguments = axis_print, CASES(cases)};

Tensor *tape_mean(Tape *t, Tensor *x, int axis) {
    return tape_forward(reduction_node(t, &op_mean, x, axis));
}
