/* scale: every element times a constant. Section 3.2.1, scores times 1/√d_k.
 *
 *     x: any shape; factor: a number      y: the same shape
 *
 *   | y_i = factor · x_i
 *
 * Backward. The slope is the factor, which has no gradient:
 *
 *   | dx_i += factor · dy_i
 *
 * Forward keeps the factor. */
#include "ops/arguments.h"
#include "ops/elementwise.h"

/* exercise: begin */
static real factor_of(const Node *n) {
    return *(const real *)n->attr;
}

FORWARD_EACH(y = factor_of(n) * x)
BACKWARD_EACH(dx += factor_of(n) * dy)

static void arguments(const Node *n, FILE *out) {
    print_number(out, "factor", (double)factor_of(n));
}
/* exercise: end */

BUILD_CASE(build, tape_scale(t, x[0], (real)-0.5))
BUILD_CASE(by_zero, tape_scale(t, x[0], 0))

static const CheckCase cases[] = {
    CASES_EACH(-2, 2),
    {"by zero", by_zero, {{"x", DIMS(3, 4)}}},
    {"repeated", build, {{"x", DIMS(3, 4), .layout = REPEATED}}},
};

const Op op_scale = {"scale", forward, backward, .arguments = arguments, CASES(cases)};

Tensor *tape_scale(Tape *t, Tensor *x, real factor) {
    Node *n = each_node(t, &op_scale, x);
    *(real *)node_attr(n, sizeof(real)) = factor;
    return tape_forward(n);
}
