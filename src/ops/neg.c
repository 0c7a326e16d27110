/* neg: the negative of every element.
 *
 *     x: any shape      y: the same
 *
 *     y_i = -x_i
 *
 * Backward. The slope is -1 everywhere:
 *
 *     dx_i -= dy_i
 *
 * Forward keeps nothing. */
#include "ops/elementwise.h"

/* exercise: begin */
FORWARD_EACH(y = -x)
BACKWARD_EACH(dx -= dy)
/* exercise: end */

BUILD_CASE(build, tape_neg(t, x[0]))

static const CheckCase cases[] = {
    CASES_EACH(build, -2, 2),
};

const Op op_neg = {"neg", forward, backward, CASES(cases)};

Tensor *tape_neg(Tape *t, Tensor *x) {
    return tape_record(tape_node(t, &op_neg, x->shape, INPUTS(x)));
}
