/* square: the square of every element.
 *
 *     x: any shape      y: the same
 *
 *   | y_i = x_i²
 *
 * Backward.
 *
 *   | dx_i += 2 x_i dy_i
 *
 * Forward keeps nothing; backward reads x. */
#include "ops/elementwise.h"

/* exercise: begin */
FORWARD_EACH(y = x * x)
BACKWARD_EACH(dx += 2 * x * dy)
/* exercise: end */

RECORD_EACH(square)

static const CheckCase cases[] = {
    CASES_EACH(-2, 2),
    {"stepped", build, {{"x", DIMS(2, 3, 4), .layout = STEPPED}}},
    {"repeated", build, {{"x", DIMS(3, 4), .layout = REPEATED}}},
};

const Op op_square = {"square", forward, backward, CASES(cases)};
