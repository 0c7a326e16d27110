/* dropout: sets each element to 0 with probability p and scales the others by 1/(1-p), so that the
 * expected value stays the same. Section 5.4; only while training.
 *
 *     x: any shape      y: the same
 *
 *   | m_i = 1/(1-p) if u_i >= p, else 0      u_i uniform in [0, 1)      y_i = m_i x_i
 *
 * Backward. The mask is a constant of the step:
 *
 *   | dx_i += dy_i m_i
 *
 * u_i is a function of the tape's seed and step, the node's index, and i (base/random.h), so that
 * backward draws the mask again and forward keeps nothing. If the tape is not training, x itself is
 * returned. */
#include "ops/dropout_mask.h"
#include "ops/elementwise.h"

/* exercise: begin */
FORWARD_EACH(y = x * dropout_factor(n->attr, i))
BACKWARD_EACH(dx += dy * dropout_factor(n->attr, i))
/* exercise: end */

static Tensor *in_training(Tape *t, Tensor *x, double p) {
    t->training = true;
    return tape_dropout(t, x, p);
}

BUILD_CASE(half, in_training(t, x[0], 0.5))
BUILD_CASE(tenth, in_training(t, x[0], 0.1))
/* exercise: begin */
BUILD_CASE(resting, tape_mul(t, tape_dropout(t, x[0], 0.5), x[0]))
/* exercise: end */

static const CheckCase cases[] = {
    {"half", half, {{"x", DIMS(6, 8)}}},
    {"tenth", tenth, {{"x", DIMS(40)}}},
    {"strided", half, {{"x", DIMS(6, 8), .layout = TRANSPOSED}}},
    /* exercise: begin */
    {"not training", resting, {{"x", DIMS(5)}}},
    /* exercise: end */
    {"empty", half, {{"x", DIMS(0, 3)}}},
};

const Op op_dropout = {"dropout", forward, backward, .arguments = dropout_print, CASES(cases)};

Tensor *tape_dropout(Tape *t, Tensor *x, double p) {
    op_want("dropout", t, INPUTS(x));
    if (!(p >= 0 && p < 1)) error_bug("dropout: p is %g, want it in [0,1)", p);
    if (!t->training || p == 0) return x;
    Node *n = each_node(t, &op_dropout, x);
    *(DropoutMask *)node_attr(n, sizeof(DropoutMask)) = dropout_mask(n, shape_count(x->shape), p);
    return tape_forward(n);
}
