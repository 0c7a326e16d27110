/* gelu: x times the probability that a standard normal variable is below x, a smooth relu (Hendrycks and
 * Gimpel, arXiv:1606.08415); the exact formula, not the one with tanh.
 *
 *     x: any shape      y: the same
 *
 *     y_i = x_i Φ(x_i)      Φ(x) = (1 + erf(x/√2)) / 2
 *
 * Backward. Φ' is the normal density φ(x) = e^(-x²/2) / √(2π), so by the product rule
 *
 *     dx_i += dy_i (Φ(x_i) + x_i φ(x_i))
 *
 * Forward keeps nothing; backward reads x.
 *
 * Numerical note: for x far below 0, 1 + erf(x/√2) would cancel; the kernel's Φ does not. */
#include "kernels/vector_math.h"
#include "ops/ops.h"

/* exercise: begin */
static void forward(Node *n) {
    real *y = n->out->data;
    long count = shape_count(n->out->shape);
    tensor_copy_out(n->in[0], y);
    for (long i = 0; i < count; i++) y[i] = vm_gelu(y[i]);
}

static void backward(Node *n) {
    const real *x = n->in[0]->data, *dy = n->out->grad;
    real *dx = n->in[0]->grad;
    for (Walk w = tensor_walk_over(n->in[0]); tensor_walk_row(&w); dx += w.n, dy += w.n)
        for (long i = 0; i < w.n; i++) dx[i] += dy[i] * vm_gelu_grad(x[w.at[0] + i * w.step[0]]);
}
/* exercise: end */

BUILD_CASE(build, tape_gelu(t, x[0]))

static const CheckCase cases[] = {
    {"matrix", build, {{"x", DIMS(3, 4)}}},
    {"tails", build, {{"x", DIMS(12), -12, 12}}},
    {"far away", build, {{"x", DIMS(8), -1000, 1000}}, .flat = true},
    {"strided", build, {{"x", DIMS(3, 4), .layout = TRANSPOSED}}},
    {"repeated", build, {{"x", DIMS(3, 4), .layout = REPEATED}}},
    {"scalar", build, {{"x", {0}}}},
    {"empty", build, {{"x", DIMS(2, 0)}}},
};

const Op op_gelu = {"gelu", forward, backward, CASES(cases)};

Tensor *tape_gelu(Tape *t, Tensor *x) {
    return tape_record(tape_node(t, &op_gelu, x->shape, INPUTS(x)));
}
