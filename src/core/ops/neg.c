/* neg: the negative of every element.
 *
 *     x: any shape      y: the same
 *
 *   | y_i = -x_i
 *
 * Backward. The slope is -1 everywhere:
 *
 *   | dx_i -= dy_i
 *
 * Forward keeps nothing. */
#include "ops/elementwise.h"

/* exercise: begin */
FORWARD_EACH(y = -x)
BACKWARD_EACH(dx -= dy)
/* exercise: end */

RECORD_EACH(neg)

static const CheckCase cases[] = {CASES_EACH(-2, 2)};

const Op op_neg = {"neg", forward, backward, CASES(cases)};
