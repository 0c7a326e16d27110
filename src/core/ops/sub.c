/* sub: the element-wise difference, with broadcasting.
 *
 *     a, b: shapes that broadcast      y: the broadcast shape
 *
 *   | y_i = a_i - b_i
 *
 * Backward. ∂y_i/∂a_i = 1 and ∂y_i/∂b_i = -1. An element of a broadcast input takes part in many
 * y_i and gets the sum over them:
 *
 *   | da_j += Σ_i dy_i      over the i at which a_j is used
 *   | db_j -= Σ_i dy_i      over the i at which b_j is used
 *
 * Forward keeps nothing. With one tensor passed twice the two sums cancel: d(x - x) = 0. */
#include "ops/elementwise.h"

/* exercise: begin */
FORWARD_PAIRS(y = a - b)
BACKWARD_PAIRS(da += dy, db -= dy)
/* exercise: end */

RECORD_PAIRS(sub)

static const CheckCase cases[] = {
    CASES_PAIRS(0),
    {"minus a column", build, {{"a", DIMS(3, 4)}, {"b", DIMS(3, 1)}}},
    {"repeated", build, {{"a", DIMS(3, 4)}, {"b", DIMS(3, 4), .layout = REPEATED}}},
    {"minus itself", build, {{"a", DIMS(3, 4)}, {"a", .same_as = 1}}},
    {"constant first", build, {{"a", DIMS(3), .constant = true}, {"b", DIMS(3)}}},
    {"constant second", build, {{"a", DIMS(3)}, {"b", DIMS(3), .constant = true}}},
};

const Op op_sub = {"sub", forward, backward, CASES(cases)};
