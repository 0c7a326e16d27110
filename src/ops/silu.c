/* silu: x times its logistic function, also called swish: a smooth relu that is cheaper than gelu (Elfwing et al.,
 * arXiv:1702.03118).
 *
 *     x: any shape      y: the same
 *
 *     y_i = x_i σ(x_i)      σ(x) = 1 / (1 + e^-x)
 *
 * Backward. σ' = σ (1 - σ), so by the product rule
 *
 *     dx_i += dy_i (σ(x_i) + x_i σ(x_i) (1 - σ(x_i)))
 *
 * Forward keeps nothing; backward reads x. */
#include "kernels/vector_math.h"
#include "ops/ops.h"

/* exercise: begin */
static void forward(Node *n) {
    real *y = n->out->data;
    long count = shape_count(n->out->shape);
    tensor_copy_out(n->in[0], y);
    for (long i = 0; i < count; i++) y[i] = vm_silu(y[i]);
}

static void backward(Node *n) {
    const real *x = n->in[0]->data, *dy = n->out->grad;
    real *dx = n->in[0]->grad;
    for (Walk w = tensor_walk_over(n->in[0]); tensor_walk_row(&w); dx += w.n, dy += w.n)
        for (long i = 0; i < w.n; i++) dx[i] += dy[i] * vm_silu_grad(x[w.at[0] + i * w.step[0]]);
}
/* exercise: end */

BUILD_CASE(build, tape_silu(t, x[0]))

static const CheckCase cases[] = {
    {"matrix", build, {{"x", DIMS(3, 4)}}},
    {"tails", build, {{"x", DIMS(12), -12, 12}}},
    {"far away", build, {{"x", DIMS(8), -1000, 1000}}, .flat = true},
    {"strided", build, {{"x", DIMS(3, 4), .layout = TRANSPOSED}}},
    {"repeated", build, {{"x", DIMS(3, 4), .layout = REPEATED}}},
    {"scalar", build, {{"x", {0}}}},
    {"empty", build, {{"x", DIMS(2, 0)}}},
};

const Op op_silu = {"silu", forward, backward, CASES(cases)};

Tensor *tape_silu(Tape *t, Tensor *x) {
    return tape_record(tape_node(t, &op_silu, x->shape, INPUTS(x)));
}
