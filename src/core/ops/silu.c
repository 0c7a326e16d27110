/* silu: x times its logistic function, also called swish: a smooth relu that is cheaper than gelu
 * (Elfwing et al., arXiv:1702.03118).
 *
 *     x: any shape      y: the same
 *
 *   | y_i = x_i σ(x_i)      σ(x) = 1 / (1 + e^-x)
 *
 * Backward. σ' = σ (1 - σ), so by the product rule
 *
 *   | dx_i += dy_i (σ(x_i) + x_i σ(x_i) (1 - σ(x_i)))
 *
 * Forward keeps nothing; backward reads x. The functions are in kernels/vector_math.h. A model's
 * feed-forward layer applies them in the epilogue of its product (linear.c,
 * kernels/gemm_epilogue.c), not by this operation. */
#include "kernels/vector_math.h"
#include "ops/elementwise.h"

/* exercise: begin */
FORWARD_EACH(y = vm_silu(x))
BACKWARD_EACH(dx += dy * vm_silu_grad(x))
/* exercise: end */

RECORD_EACH(silu)

static const CheckCase cases[] = {
    CASES_EACH(-2, 2),
    {"tails", build, {{"x", DIMS(12), -12, 12}}},
    {"far away", build, {{"x", DIMS(8), -1000, 1000}}, .flat = true},
    {"repeated", build, {{"x", DIMS(3, 4), .layout = REPEATED}}},
};

const Op op_silu = {"silu", forward, backward, CASES(cases)};
