/* softmax: turns numbers along an axis into positive weights that sum to 1. Section 3.2.1, the
 * attention weights.
 *
 *     x: any shape, i and j along the axis      y: the same
 *
 *   | y_i = e^x_i / Σ_j e^x_j
 *
 * Backward. With s = Σ_j e^x_j:
 *
 *     ∂y_i/∂x_k = y_i (δ_ik - y_k)
 *     dx_k = Σ_i dy_i y_i (δ_ik - y_k) = y_k dy_k - y_k Σ_i dy_i y_i
 *   | dx_k += y_k (dy_k - Σ_i dy_i y_i)
 *
 * Forward keeps only y.
 *
 * A line is the elements that differ in their index of the axis alone (axis.h).
 *
 * Numerical note: the maximum m of the line is subtracted first: e^(x_i - m) cannot overflow, and
 * e^-m cancels in the weights. A line of -∞ (everything masked) gives weights 0 and gradient 0.
 * Sums are computed in double, so that long lines are as exact as short ones. */
#include "ops/axis.h"

/* exercise: begin */
static void forward(Node *n) {
    const Axis *a = n->attr;
    tensor_copy_out(n->in[0], n->out->data);
    for (long line = 0; line < axis_lines(a); line++) {
        real *y = n->out->data + axis_line(a, line);
        long step = a->inner;
        real m = axis_max(a, y);
        if (m == -INFINITY) m = 0;
        double sum = axis_exp_sum(a, y, m, y);
        real scale = sum == 0 ? 0 : (real)(1 / sum);
        for (long i = 0; i < a->n; i++) y[i * step] *= scale;
    }
}

static void backward(Node *n) {
    const Axis *a = n->attr;
    for (long line = 0; line < axis_lines(a); line++) {
        long at = axis_line(a, line), step = a->inner;
        const real *y = n->out->data + at, *dy = n->out->grad + at;
        real *dx = n->in[0]->grad + at;
        double dot = 0;
        for (long i = 0; i < a->n; i++) dot += (double)dy[i * step] * (double)y[i * step];
        for (long i = 0; i < a->n; i++) dx[i * step] += y[i * step] * (dy[i * step] - (real)dot);
    }
}
/* exercise: end */

SOFTMAX_BUILDS(softmax)

static const double masked[] = {-INFINITY, 1,         2,         -INFINITY, 0.5,
                                -INFINITY, -INFINITY, -INFINITY, -INFINITY};

static const CheckCase cases[] = {
    SOFTMAX_CASES,
    {"extreme logits", last_axis, {{"x", DIMS(3, 4), -1e4, 1e4}}, .flat = true},
    {"masked, one row wholly", last_axis, {{"x", DIMS(3, 3), .values = masked}}},
};

const Op op_softmax = {"softmax", forward, backward, .arguments = axis_print, CASES(cases)};

Tensor *tape_softmax(Tape *t, Tensor *x, int axis) {
    return tape_forward(axis_node(t, &op_softmax, x, axis));
}
