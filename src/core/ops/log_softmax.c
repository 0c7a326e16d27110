/* log_softmax: the logarithms of the softmax weights along an axis, for the loss. Section 5.4.
 *
 *     x: any shape, i and j along the axis      y: the same
 *
 *   | y_i = x_i - ln Σ_j e^x_j
 *
 * Backward. The logarithm's slope with respect to x_k is the weight p_k = e^x_k / Σ_j e^x_j =
 * e^y_k:
 *
 *     ∂y_i/∂x_k = δ_ik - p_k
 *     dx_k = Σ_i dy_i (δ_ik - p_k)
 *   | dx_k += dy_k - e^y_k Σ_i dy_i
 *
 * Forward keeps only y.
 *
 * Numerical note: the maximum m of the line is subtracted first: y_i = (x_i - m) - ln Σ_j e^(x_j -
 * m). No exponential overflows, the sum is at least 1, and a weight too small to be represented
 * still has its logarithm. A line of -∞ (everything masked) stays -∞ and gets gradient 0. Sums are
 * computed in double, so that long lines are as exact as short ones. */
#include "kernels/vector_math.h"
#include "ops/axis.h"

/* exercise: begin */
static void forward(Node *n) {
    const Axis *a = n->attr;
    tensor_copy_out(n->in[0], n->out->data);
    for (long line = 0; line < axis_lines(a); line++) {
        real *y = n->out->data + axis_line(a, line);
        long step = a->inner;
        real m = axis_max(a, y);
        if (m == -INFINITY) continue;
        real log_sum = vm_log((real)axis_exp_sum(a, y, m, NULL));
        for (long i = 0; i < a->n; i++) y[i * step] = y[i * step] - m - log_sum;
    }
}

static void backward(Node *n) {
    const Axis *a = n->attr;
    for (long line = 0; line < axis_lines(a); line++) {
        long at = axis_line(a, line), step = a->inner;
        const real *y = n->out->data + at, *dy = n->out->grad + at;
        real *dx = n->in[0]->grad + at;
        if (axis_max(a, y) == -INFINITY) continue;
        double sum = axis_sum(a, dy);
        for (long i = 0; i < a->n; i++)
            dx[i * step] += dy[i * step] - vm_exp(y[i * step]) * (real)sum;
    }
}
/* exercise: end */

SOFTMAX_BUILDS(log_softmax)

static const CheckCase cases[] = {
    SOFTMAX_CASES,
    {"extreme logits", last_axis, {{"x", DIMS(3, 4), -1e4, 1e4}}},
};

const Op op_log_softmax = {"log_softmax", forward, backward, .arguments = axis_print, CASES(cases)};

Tensor *tape_log_softmax(Tape *t, Tensor *x, int axis) {
    return tape_forward(axis_node(t, &op_log_softmax, x, axis));
}
