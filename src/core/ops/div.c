/* div: the element-wise quotient, with broadcasting.
 *
 *     a, b: shapes that broadcast      y: the broadcast shape
 *
 *   | y_i = a_i / b_i
 *
 * Backward. Each y_i depends on one a and one b. An element of a broadcast input gets the sum over
 * all y_i that use it:
 *
 *     ∂y_i/∂a_i = 1 / b_i      ∂y_i/∂b_i = -a_i / b_i² = -y_i / b_i
 *   | da_j += Σ_i dy_i / b_i      over the i at which a_j is used
 *   | db_j -= Σ_i dy_i y_i / b_i      over the i at which b_j is used
 *
 * Forward keeps only y. Using y avoids b², which may overflow or vanish although y does not.
 *
 * Numerical note: b = 0 gives an infinity, or NaN if a = 0 too, as in IEEE arithmetic. */
#include "ops/elementwise.h"

/* exercise: begin */
FORWARD_PAIRS(y = a / b)
BACKWARD_PAIRS(da += dy / b, db -= dy * y / b)
/* exercise: end */

RECORD_PAIRS(div)

static const CheckCase cases[] = {
    CASES_PAIRS(0.4),
    {"by a column", build, {{"a", DIMS(3, 4)}, {"b", DIMS(3, 1), .margin = 0.4}}},
    {"by a scalar", build, {{"a", DIMS(2, 2)}, {"b", {0}, .margin = 0.4}}},
    {"small divisors", build, {{"a", DIMS(6)}, {"b", DIMS(6), 1e-3, 2e-3}}},
    {"repeated", build, {{"a", DIMS(3, 4)}, {"b", DIMS(3, 4), .margin = 0.4, .layout = REPEATED}}},
    {"by itself", build, {{"a", DIMS(3, 4), .margin = 0.4}, {"a", .same_as = 1}}},
    {"constant dividend", build, {{"a", DIMS(3), .constant = true}, {"b", DIMS(3), .margin = 0.4}}},
    {"constant divisor", build, {{"a", DIMS(3)}, {"b", DIMS(3), .margin = 0.4, .constant = true}}},
};

const Op op_div = {"div", forward, backward, CASES(cases)};
