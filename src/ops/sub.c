/* sub: the element-wise difference, with broadcasting.
 *
 *     a, b: shapes that broadcast      y: the broadcast shape
 *
 *     y_i = a_i - b_i
 *
 * Backward. ∂y_i/∂a_i = 1 and ∂y_i/∂b_i = -1. An element of a broadcast input takes part in many y_i and gets
 * the sum over them:
 *
 *     da_j += Σ_i dy_i      over the i at which a_j is used
 *     db_j -= Σ_i dy_i      over the i at which b_j is used
 *
 * Forward keeps nothing. With one tensor passed twice the two sums cancel: d(x - x) = 0. */
#include "ops/elementwise.h"

/* exercise: begin */
FORWARD_PAIRS(y = a - b)
BACKWARD_PAIRS(da += dy, db -= dy)
/* exercise: end */

BUILD_CASE(build, tape_sub(t, x[0], x[1]))

static const CheckCase cases[] = {
    {"same shape", build, {{"a", DIMS(3, 4)}, {"b", DIMS(3, 4)}}},
    {"broadcast row", build, {{"a", DIMS(2, 3, 4)}, {"b", DIMS(4)}}},
    {"minus a column", build, {{"a", DIMS(3, 4)}, {"b", DIMS(3, 1)}}},
    {"broadcast both", build, {{"a", DIMS(2, 1, 4)}, {"b", DIMS(3, 1)}}},
    {"scalar", build, {{"a", {0}}, {"b", DIMS(2, 2)}}},
    {"strided", build, {{"a", DIMS(3, 4), .layout = TRANSPOSED}, {"b", DIMS(3, 4), .layout = STEPPED}}},
    {"repeated", build, {{"a", DIMS(3, 4)}, {"b", DIMS(3, 4), .layout = REPEATED}}},
    {"minus itself", build, {{"a", DIMS(3, 4)}, {"a", .same_as = 1}}},
    {"constant first", build, {{"a", DIMS(3), .constant = true}, {"b", DIMS(3)}}},
    {"constant second", build, {{"a", DIMS(3)}, {"b", DIMS(3), .constant = true}}},
    {"one element", build, {{"a", DIMS(1)}, {"b", DIMS(1)}}},
    {"empty", build, {{"a", DIMS(0, 4)}, {"b", DIMS(4)}}},
};

const Op op_sub = {"sub", forward, backward, CASES(cases)};

Tensor *tape_sub(Tape *t, Tensor *a, Tensor *b) {
    return tape_record(broadcast_node(t, &op_sub, a, b));
}
