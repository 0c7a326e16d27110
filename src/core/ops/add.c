/* add: the element-wise sum, with broadcasting. Residual connections and biases.
 *
 *     a, b: shapes that broadcast      y: the broadcast shape
 *
 *   | y_i = a_i + b_i
 *
 * Backward. ∂y_i/∂a_j is 1 if y_i uses a_j, else 0. Both inputs get dy, summed over the axes along
 * which they were repeated:
 *
 *   | da_j += Σ_i dy_i      over the i at which a_j is used; db likewise
 *
 * Forward keeps nothing. */
#include "ops/elementwise.h"

/* exercise: begin */
FORWARD_PAIRS(y = a + b)
BACKWARD_PAIRS(da += dy, db += dy)
/* exercise: end */

RECORD_PAIRS(add)

static const CheckCase cases[] = {
    CASES_PAIRS(0),
    {"repeated", build, {{"a", DIMS(3, 4), .layout = REPEATED}, {"b", DIMS(3, 4)}}},
    {"doubled", build, {{"a", DIMS(3, 4)}, {"a", .same_as = 1}}},
    {"constant term", build, {{"a", DIMS(3)}, {"b", DIMS(3), .constant = true}}},
};

const Op op_add = {"add", forward, backward, CASES(cases)};
