/* relu: negative elements become 0. Section 3.3, inside the feed-forward network.
 *
 *     x: any shape      y: the same
 *
 *   | y_i = max(x_i, 0)
 *
 * Backward. The slope is 1 for x > 0 and 0 for x < 0. At the kink, x = 0, it is taken as 0, as in
 * PyTorch:
 *
 *   | dx_i += dy_i      if y_i > 0
 *
 * Forward keeps only y, which is positive if x is.
 *
 * Numerical note: NaN stays NaN. */
#include "ops/elementwise.h"

/* exercise: begin */
FORWARD_EACH(y = x <= 0 ? 0 : x)
BACKWARD_EACH(dx += y > 0 ? dy : 0)
BRANCHES_EACH(x > 0)
/* exercise: end */

RECORD_EACH(relu)

static const double at_kinks[] = {-1, 0, 1, 0};

static const CheckCase cases[] = {
    {"matrix", build, {{"x", DIMS(3, 4), .margin = 0.1}}},
    {"strided", build, {{"x", DIMS(3, 4), .margin = 0.1, .layout = TRANSPOSED}}},
    {"scalar", build, {{"x", {0}, .margin = 0.1}}},
    {"empty", build, {{"x", DIMS(2, 0)}}},
    {"at the kink", build, {{"x", DIMS(4), .values = at_kinks}}, .kinks = true},
};

const Op op_relu = {"relu", forward, backward, .branches = branches, CASES(cases)};
