/* add: the element-wise sum, with broadcasting. Residual connections and biases.
 *
 *     a, b: shapes that broadcast      y: the broadcast shape
 *
 *     y_i = a_i + b_i
 *
 * Backward. ∂y_i/∂a_j is 1 if y_i uses a_j, else 0. Both inputs get dy, summed over the axes along which they
 * were repeated:
 *
 *     da_j += Σ_i dy_i      over the i at which a_j is used; db likewise
 *
 * Forward keeps nothing. */
#include "ops/elementwise.h"

/* exercise: begin */
FORWARD_PAIRS(y = a + b)
BACKWARD_PAIRS(da += dy, db += dy)
/* exercise: end */

BUILD_CASE(build, tape_add(t, x[0], x[1]))

static const CheckCase cases[] = {
    {"same shape", build, {{"a", DIMS(3, 4)}, {"b", DIMS(3, 4)}}},
    {"bias", build, {{"a", DIMS(2, 3, 4)}, {"b", DIMS(4)}}},
    {"broadcast both", build, {{"a", DIMS(2, 1, 4)}, {"b", DIMS(3, 1)}}},
    {"scalar", build, {{"a", {0}}, {"b", DIMS(2, 2)}}},
    {"strided", build, {{"a", DIMS(3, 4), .layout = TRANSPOSED}, {"b", DIMS(3, 4), .layout = STEPPED}}},
    {"repeated", build, {{"a", DIMS(3, 4), .layout = REPEATED}, {"b", DIMS(3, 4)}}},
    {"doubled", build, {{"a", DIMS(3, 4)}, {"a", .same_as = 1}}},
    {"constant term", build, {{"a", DIMS(3)}, {"b", DIMS(3), .constant = true}}},
    {"one element", build, {{"a", DIMS(1)}, {"b", DIMS(1)}}},
    {"empty", build, {{"a", DIMS(0, 4)}, {"b", DIMS(4)}}},
};

const Op op_add = {"add", forward, backward, CASES(cases)};

Tensor *tape_add(Tape *t, Tensor *a, Tensor *b) {
    return tape_record(broadcast_node(t, &op_add, a, b));
}
