/* mul: the element-wise product, with broadcasting.
 *
 *     a, b: shapes that broadcast      y: the broadcast shape
 *
 *   | y_i = a_i b_i
 *
 * Backward. Each y_i depends on one a and one b:
 *
 *     ∂L/∂a_j = Σ_i ∂L/∂y_i · b_i      over the i at which a_j is used
 *                                      (one, or many where a is broadcast)
 *   | da_j += Σ_i dy_i b_i             db_j += Σ_i dy_i a_i
 *
 * Forward keeps nothing; backward reads both inputs. If one tensor is passed twice, da and db are
 * the same array and get both sums: d(x²) = 2x dx. */
#include "ops/elementwise.h"

/* exercise: begin */
FORWARD_PAIRS(y = a * b)
BACKWARD_PAIRS(da += dy * b, db += dy * a)
/* exercise: end */

RECORD_PAIRS(mul)

static const CheckCase cases[] = {
    CASES_PAIRS(0),
    {"squared", build, {{"a", DIMS(3, 4)}, {"a", .same_as = 1}}},
    {"constant factor", build, {{"a", DIMS(3)}, {"b", DIMS(3), .constant = true}}},
};

const Op op_mul = {"mul", forward, backward, CASES(cases)};
