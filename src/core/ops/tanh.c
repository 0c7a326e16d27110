/* tanh: the hyperbolic tangent of every element, a smooth step from -1 to 1.
 *
 *     x: any shape      y: the same
 *
 *   | y_i = (e^x_i - e^-x_i) / (e^x_i + e^-x_i)
 *
 * Backward. With c = e^x + e^-x and s = e^x - e^-x, ∂y/∂x = (c² - s²) / c²:
 *
 *   | dx_i += dy_i (1 - y_i²)
 *
 * Forward keeps only y.
 *
 * Numerical note: beyond |x| = 9 (19 in double) y rounds to ±1 and the slope to 0, which is within
 * ε of the true one. */
#include "kernels/vector_math.h"
#include "ops/elementwise.h"

/* exercise: begin */
FORWARD_EACH(y = vm_tanh(x))
BACKWARD_EACH(dx += dy * (1 - y * y))
/* exercise: end */

RECORD_EACH(tanh)

static const CheckCase cases[] = {
    CASES_EACH(-2, 2),
    {"near zero", build, {{"x", DIMS(6), -1e-3, 1e-3}}},
    {"saturated", build, {{"x", DIMS(8), -1000, 1000}}, .flat = true},
};

const Op op_tanh = {"tanh", forward, backward, CASES(cases)};
