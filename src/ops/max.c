/* max: the largest element along an axis, or of all.
 *
 *     x: any shape, at least one element to choose from
 *     y: the same with size 1 along the axis, or a scalar with ALL_AXES
 *
 *     y_o = max_i x_oi      over i along the axis, for every index o of the other axes
 *
 * Backward. y depends on the largest element alone. If several are the largest, the first of them gets the
 * whole gradient, as in PyTorch's max along an axis:
 *
 *     dx_oi += dy_o      where i is the first with x_oi = y_o
 *
 * Forward keeps only y; backward compares to find the element again.
 *
 * Numerical note: the maximum of a line with a NaN is NaN, which equals no element: the line gets no
 * gradient. */
#include "kernels/arrays.h"
#include "ops/ops.h"
#include "ops/reduce.h"
#include <math.h>

/* exercise: begin */
static void forward(Node *n) {
    const Reduction *r = n->attr;
    const real *x = n->in[0]->data;
    real *y = n->out->data;
    Walk w = reduction_walk(n);
    for (long o = 0; o < r->outputs; o++) {
        real max = -INFINITY;
        for (long left = r->n; reduction_row(&w, &left);)
            for (long i = 0; i < w.n; i++) {
                real v = x[w.at[WALK_X] + i * w.step[WALK_X]];
                if (v > max || isnan(v)) max = v;
            }
        y[o] = max;
    }
}

/* The index in dx of the first element of w's next line that equals y; -1 if none does. */
static long winner(const Reduction *r, Walk *w, const real *x, real y) {
    long found = -1;
    for (long left = r->n; reduction_row(w, &left);)
        for (long i = 0; i < w->n && found < 0; i++)
            if (x[w->at[WALK_X] + i * w->step[WALK_X]] == y) found = w->at[WALK_DX] + i * w->step[WALK_DX];
    return found;
}

static void backward(Node *n) {
    const Reduction *r = n->attr;
    const real *x = n->in[0]->data, *y = n->out->data, *dy = n->out->grad;
    real *dx = n->in[0]->grad;
    Walk w = reduction_walk(n);
    for (long o = 0; o < r->outputs; o++) {
        long place = winner(r, &w, x, y[o]);
        if (place >= 0) dx[place] += dy[o];
    }
}

static uint64_t branches(const Node *n) {
    const Reduction *r = n->attr;
    uint64_t hash = 0;
    Walk w = reduction_walk(n);
    for (long o = 0; o < r->outputs; o++)
        hash = branch_hash(hash, winner(r, &w, n->in[0]->data, n->out->data[o]));
    return hash;
}
/* exercise: end */

REDUCTION_BUILDS(max)

static const double tied[] = {1, 2, 2, 0, 3, 3};

static const CheckCase cases[] = {
    REDUCTION_CASES,
    {"all negative", last_axis, {{"x", DIMS(3, 4), -2, -1, .distinct = true}}},
    {"no maxima", last_axis, {{"x", DIMS(0, 3)}}},
    {"ties", last_axis, {{"x", DIMS(2, 3), .values = tied}}, .kinks = true},
};

const Op op_max = {"max",       forward, backward, .branches = branches, .arguments = reduction_print,
                   CASES(cases)};

Tensor *tape_max(Tape *t, Tensor *x, int axis) {
    Node *n = reduction_node(t, &op_max, x, axis);
    if (((Reduction *)n->attr)->n == 0)
        error_bug("max: x is %s, want at least one element to choose from", shape_text(x->shape));
    return tape_record(n);
}
