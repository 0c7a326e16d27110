/* exp: the exponential of every element.
 *
 *     x: any shape      y: the same
 *
 *   | y_i = e^x_i
 *
 * Backward. The exponential is its own derivative, and forward has computed it:
 *
 *   | dx_i += dy_i y_i
 *
 * Numerical note: above x = 88.7 (709.8 in double) the result is infinite, as in libm. */
#include "kernels/vector_math.h"
#include "ops/elementwise.h"

/* exercise: begin */
FORWARD_EACH(y = vm_exp(x))
BACKWARD_EACH(dx += dy * y)
/* exercise: end */

RECORD_EACH(exp)

static const CheckCase cases[] = {
    CASES_EACH(-2, 2),
    {"small and large", build, {{"x", DIMS(8), -20, 20}}},
};

const Op op_exp = {"exp", forward, backward, CASES(cases)};
