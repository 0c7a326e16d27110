/* mean: the mean along an axis, or of all elements.
 *
 *     x: any shape      y: the same with size 1 along the axis, or a scalar with ALL_AXES
 *
 *     y_o = 1/n Σ_i x_oi      over the n elements i along the axis, for every index o of the other axes
 *
 * Backward. Each x_oi is in one mean, with slope 1/n:
 *
 *     dx_oi += dy_o / n
 *
 * Forward keeps nothing.
 *
 * Numerical note: the sum is computed in double and rounded once, after the division. The mean of no
 * elements is 0/0: NaN. */
#include "ops/ops.h"
#include "ops/reduce.h"

/* exercise: begin */
static void forward(Node *n) {
    const Reduction *r = n->attr;
    const real *x = n->in[0]->data;
    real *y = n->out->data;
    Walk w = reduction_walk(n);
    for (long o = 0; o < r->outputs; o++) {
        double sum = 0;
        for (long left = r->n; left > 0 && tensor_walk_row(&w); left -= w.n)
            for (long i = 0; i < w.n; i++) sum += (double)x[w.at[WALK_X] + i * w.step[WALK_X]];
        y[o] = (real)(sum / (double)r->n);
    }
}

static void backward(Node *n) {
    const Reduction *r = n->attr;
    const real *dy = n->out->grad;
    real *dx = n->in[0]->grad;
    Walk w = reduction_walk(n);
    for (long o = 0; o < r->outputs; o++)
        for (long left = r->n; left > 0 && tensor_walk_row(&w); left -= w.n)
            for (long i = 0; i < w.n; i++) dx[w.at[WALK_DX] + i * w.step[WALK_DX]] += dy[o] / (real)r->n;
}
/* exercise: end */

BUILD_CASE(last_axis, tape_mean(t, x[0], -1))
BUILD_CASE(first_axis, tape_mean(t, x[0], 0))
BUILD_CASE(middle_axis, tape_mean(t, x[0], 1))
BUILD_CASE(all_axes, tape_mean(t, x[0], ALL_AXES))

static const CheckCase cases[] = {
    {"last axis", last_axis, {{"x", DIMS(3, 4)}}},
    {"first axis", first_axis, {{"x", DIMS(3, 4)}}},
    {"middle axis", middle_axis, {{"x", DIMS(2, 3, 4)}}},
    {"all", all_axes, {{"x", DIMS(2, 3, 4)}}},
    {"strided", middle_axis, {{"x", DIMS(2, 3, 4), .layout = TRANSPOSED}}},
    {"stepped", all_axes, {{"x", DIMS(2, 3, 4), .layout = STEPPED}}},
    {"repeated", first_axis, {{"x", DIMS(3, 4), .layout = REPEATED}}},
    {"scalar", all_axes, {{"x", {0}}}},
    {"one element", last_axis, {{"x", DIMS(3, 1)}}},
    {"no means", last_axis, {{"x", DIMS(0, 3)}}},
};

const Op op_mean = {"mean", forward, backward, .arguments = reduction_print, CASES(cases)};

Tensor *tape_mean(Tape *t, Tensor *x, int axis) {
    return tape_record(reduction_node(t, &op_mean, x, axis));
}
