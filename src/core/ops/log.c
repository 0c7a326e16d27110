/* log: the natural logarithm of every element.
 *
 *     x: any shape, elements > 0      y: the same shape
 *
 *   | y_i = ln x_i
 *
 * Backward.
 *
 *   | dx_i += dy_i / x_i
 *
 * Forward keeps nothing; backward reads x.
 *
 * Numerical note: x = 0 gives -∞ and an infinite slope, x < 0 gives NaN, as in libm. For the
 * logarithm of a softmax use log_softmax, where no weight can underflow first. */
#include "kernels/vector_math.h"
#include "ops/elementwise.h"

/* exercise: begin */
FORWARD_EACH(y = vm_log(x))
BACKWARD_EACH(dx += dy / x)
/* exercise: end */

RECORD_EACH(log)

static const CheckCase cases[] = {
    CASES_EACH(0.2, 4),
    {"near zero", build, {{"x", DIMS(6), 1e-4, 2e-4}}},
    {"large", build, {{"x", DIMS(6), 1e3, 1e4}}},
    {"repeated", build, {{"x", DIMS(3, 4), 0.2, 4, .layout = REPEATED}}},
};

const Op op_log = {"log", forward, backward, CASES(cases)};
