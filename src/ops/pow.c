/* pow: every element raised to a constant power.
 *
 *     x: any shape; p: a number      y: the same shape
 *
 *     y_i = x_i^p
 *
 * Domain: x > 0 for any p; x < 0 if p is an integer; x = 0 if p ≥ 1 or p = 0. Outside it the result or the
 * slope is infinite or NaN, as in libm.
 *
 * Backward. p has no gradient:
 *
 *     dx_i += dy_i p x_i^(p-1)
 *
 * For p = 0 the slope is 0 everywhere; the formula would give 0 · ∞ at x = 0.
 *
 * Forward keeps p; backward reads x. The slope is not computed as p y / x, which fails at x = 0. */
#include "ops/arguments.h"
#include "ops/ops.h"
#include <tgmath.h>

typedef struct Attr {
    real p;
} Attr;

/* exercise: begin */
static void forward(Node *n) {
    real *y = n->out->data, p = ((Attr *)n->attr)->p;
    long count = shape_count(n->out->shape);
    tensor_copy_out(n->in[0], y);
    for (long i = 0; i < count; i++) y[i] = pow(y[i], p);
}

static void backward(Node *n) {
    const real *x = n->in[0]->data, *dy = n->out->grad;
    real *dx = n->in[0]->grad, p = ((Attr *)n->attr)->p;
    if (p == 0) return;
    for (Walk w = tensor_walk_over(n->in[0]); tensor_walk_row(&w); dx += w.n, dy += w.n)
        for (long i = 0; i < w.n; i++) dx[i] += dy[i] * p * pow(x[w.at[0] + i * w.step[0]], p - 1);
}

static void arguments(const Node *n, FILE *out) {
    print_number(out, "p", (double)((const Attr *)n->attr)->p);
}
/* exercise: end */

BUILD_CASE(cubed, tape_pow(t, x[0], 3))
BUILD_CASE(reciprocal_root, tape_pow(t, x[0], (real)-0.5))
BUILD_CASE(reciprocal, tape_pow(t, x[0], -1))
BUILD_CASE(to_the_zero, tape_pow(t, x[0], 0))

static const double around_zero[] = {-1, 0, 1, 0};

static const CheckCase cases[] = {
    {"cube, both signs", cubed, {{"x", DIMS(3, 4)}}},
    {"cube at zero", cubed, {{"x", DIMS(4), .values = around_zero}}},
    {"fraction", reciprocal_root, {{"x", DIMS(3, 4), 0.2, 4}}},
    {"negative, both signs", reciprocal, {{"x", DIMS(3, 4), .margin = 0.4}}},
    {"zeroth power at zero", to_the_zero, {{"x", DIMS(4), .values = around_zero}}},
    {"strided", cubed, {{"x", DIMS(3, 4), .layout = TRANSPOSED}}},
    {"repeated", reciprocal_root, {{"x", DIMS(3, 4), 0.2, 4, .layout = REPEATED}}},
    {"scalar", cubed, {{"x", {0}}}},
    {"empty", cubed, {{"x", DIMS(2, 0)}}},
};

const Op op_pow = {"pow", forward, backward, .arguments = arguments, CASES(cases)};

Tensor *tape_pow(Tape *t, Tensor *x, real p) {
    Node *n = tape_node(t, &op_pow, x->shape, INPUTS(x));
    *(Attr *)node_attr(n, sizeof(Attr)) = (Attr){p};
    return tape_record(n);
}
