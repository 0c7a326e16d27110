/* gelu: x times the probability that a standard normal variable is below x, a smooth relu
 * (Hendrycks and Gimpel, arXiv:1606.08415); the exact formula, not the one with tanh.
 *
 *     x: any shape      y: the same
 *
 *   | y_i = x_i Φ(x_i)      Φ(x) = (1 + erf(x/√2)) / 2
 *
 * Backward. Φ' is the normal density φ(x) = e^(-x²/2) / √(2π), so by the product rule
 *
 *   | dx_i += dy_i (Φ(x_i) + x_i φ(x_i))
 *
 * Forward keeps nothing; backward reads x. The functions are in kernels/vector_math.h. A model's
 * feed-forward layer applies them in the epilogue of its product (linear.c,
 * kernels/gemm_epilogue.c), not by this operation.
 *
 * Numerical note: for x far below 0, 1 + erf(x/√2) would cancel; the kernel's Φ does not. */
#include "kernels/vector_math.h"
#include "ops/elementwise.h"

/* exercise: begin */
FORWARD_EACH(y = vm_gelu(x))
BACKWARD_EACH(dx += dy * vm_gelu_grad(x))
/* exercise: end */

RECORD_EACH(gelu)

static const CheckCase cases[] = {
    CASES_EACH(-2, 2),
    {"tails", build, {{"x", DIMS(12), -12, 12}}},
    {"far away", build, {{"x", DIMS(8), -1000, 1000}}, .flat = true},
    {"repeated", build, {{"x", DIMS(3, 4), .layout = REPEATED}}},
};

const Op op_gelu = {"gelu", forward, backward, CASES(cases)};
