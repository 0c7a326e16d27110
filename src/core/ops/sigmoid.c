/* sigmoid: the logistic function of every element, a smooth step from 0 to 1.
 *
 *     x: any shape      y: the same
 *
 *   | y_i = 1 / (1 + e^-x_i)
 *
 * Backward. ∂y/∂x = e^-x / (1 + e^-x)², where e^-x / (1 + e^-x) = 1 - y:
 *
 *   | dx_i += dy_i y_i (1 - y_i)
 *
 * Forward keeps only y.
 *
 * Numerical note: a small y keeps all its digits. Above x = 17 (37 in double) y rounds to 1 and the
 * slope to 0, which is within ε of the true one. */
#include "kernels/vector_math.h"
#include "ops/elementwise.h"

/* exercise: begin */
FORWARD_EACH(y = vm_sigmoid(x))
BACKWARD_EACH(dx += dy * y * (1 - y))
/* exercise: end */

RECORD_EACH(sigmoid)

static const CheckCase cases[] = {
    CASES_EACH(-2, 2),
    {"saturated", build, {{"x", DIMS(8), -1000, 1000}}, .flat = true},
};

const Op op_sigmoid = {"sigmoid", forward, backward, CASES(cases)};
