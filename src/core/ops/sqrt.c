/* sqrt: the square root of every element.
 *
 *     x: any shape, elements > 0      y: the same shape
 *
 *   | y_i = √x_i
 *
 * Backward. ∂y/∂x = 1 / (2√x), and forward has computed the root:
 *
 *   | dx_i += dy_i / (2 y_i)
 *
 * Forward keeps only y.
 *
 * Numerical note: the slope is infinite at x = 0, and y is NaN for x < 0. If x can be 0, as a
 * variance can, add a small constant first: √(x + ε), not √x + ε. */
#include "ops/elementwise.h"
#include <tgmath.h>

/* exercise: begin */
FORWARD_EACH(y = sqrt(x))
BACKWARD_EACH(dx += dy / (2 * y))
/* exercise: end */

RECORD_EACH(sqrt)

static const CheckCase cases[] = {
    CASES_EACH(0.2, 4),
    {"near zero", build, {{"x", DIMS(6), 1e-4, 2e-4}}},
};

const Op op_sqrt = {"sqrt", forward, backward, CASES(cases)};
