/* Mistakes in summing over the uses of an element: an output that it goes to, or an argument. */
#include "check/gradcheck/patterns.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The Jacobian, where it is known: ∂y_i/∂x_j. */
static double jacobian(const Suspect *s, long i, long j) {
    return s->numeric[(1 + i) * s->e->coordinates + j];
}

/* expected = Σ over the outputs i that `counts` of weight · ∂y_i/∂x_j. */
static bool fits_sum(Suspect *s, bool (*counts)(const Suspect *s, const void *which, long i, long j),
                     const void *which, bool weighted) {
    const Entries *e = s->e;
    if (!e->whole) return false;
    memset(s->expected, 0, (size_t)(e->cotangents * e->coordinates) * sizeof *s->expected);
    for (long i = 0; i < e->outputs; i++)
        for (long j = 0; j < e->coordinates; j++) {
            double slope = jacobian(s, i, j);
            if (!isfinite(slope)) slope = 0;
            if (slope == 0 || !counts(s, which, i, j)) continue;
            for (long q = 0; q < e->cotangents; q++)
                s->expected[q * e->coordinates + j] +=
                    slope * (weighted ? (double)e->cotangent[q * e->outputs + i] : 1);
        }
    return pattern_fits(s);
}

static bool all_count(const Suspect *s, const void *which, long i, long j) {
    (void)s, (void)which, (void)i, (void)j;
    return true;
}

bool pattern_upstream_ignored(Suspect *s) {
    return fits_sum(s, all_count, NULL, false) &&
           pattern_say(s,
                       "the upstream gradient is not used: the result is that of an upstream gradient of 1");
}

/* Whether it is what would come of an upstream gradient that is read at from[i] for output i; < 0: as 0. */
static bool fits_upstream_at(Suspect *s, const long *from) {
    const Entries *e = s->e;
    memset(s->expected, 0, (size_t)(e->cotangents * e->coordinates) * sizeof *s->expected);
    for (long q = 0; q < e->cotangents; q++) {
        const real *dy = e->cotangent + q * e->outputs;
        for (long i = 0; i < e->outputs; i++) {
            if (from[i] < 0 || dy[from[i]] == 0) continue;
            for (long j = 0; j < e->coordinates; j++) {
                double slope = jacobian(s, i, j);
                if (isfinite(slope)) s->expected[q * e->coordinates + j] += (double)dy[from[i]] * slope;
            }
        }
        for (long j = 0; j < e->coordinates; j++) {
            long at = q * e->coordinates + j;
            if (e->entry[at].state != ENTRY_KINK && !pattern_near(s, at, s->analytic[at], s->expected[at]))
                return false;
        }
    }
    return true;
}

/* Whether outputs are read at other places than their own. */
static bool moves(const long *from, long n) {
    for (long i = 0; i < n; i++)
        if (from[i] != i) return true;
    return false;
}

/* As when a part of a gradient is read from the start of the whole. */
static bool upstream_shifted(Suspect *s, long *from) {
    long n = s->e->outputs;
    for (long by = 1 - n; by < n; by++) {
        for (long i = 0; i < n; i++) from[i] = i + by >= 0 && i + by < n ? i + by : -1;
        if (by && fits_upstream_at(s, from))
            return pattern_say(s, "the upstream gradient is read %ld element%s too %s", labs(by),
                               labs(by) == 1 ? "" : "s", by < 0 ? "early" : "late");
    }
    return false;
}

/* As when rows and columns are swapped in its index: dy_ji for dy_ij. */
static bool upstream_transposed(Suspect *s, long *from) {
    Shape y = s->y_shape;
    if (y.rank < 2) return false;
    long rows = y.size[y.rank - 2], columns = y.size[y.rank - 1];
    for (long i = 0; i < s->e->outputs; i++) {
        long row = i / columns % rows, column = i % columns;
        from[i] = i - row * columns - column + column * rows + row;
    }
    return moves(from, s->e->outputs) && fits_upstream_at(s, from) &&
           pattern_say(s, "the upstream gradient is read as if transposed, rows for columns");
}

/* As when a row's number is forgotten in its index. */
static bool upstream_of_first(Suspect *s, long *from) {
    for (int axis = 0; axis < s->y_shape.rank; axis++) {
        AlongAxis a = pattern_along(s->y_shape, axis);
        for (long i = 0; i < s->e->outputs; i++) from[i] = i - pattern_index_along(&a, i) * a.inner;
        if (moves(from, s->e->outputs) && fits_upstream_at(s, from))
            return pattern_say(s, "the upstream gradient at index 0 of axis %d is used for all along it",
                               axis);
    }
    return false;
}

bool pattern_upstream_elsewhere(Suspect *s) {
    long *from = arena_alloc(s->arena, (size_t)s->e->outputs * sizeof *from);
    return pattern_has_jacobian(s) &&
           (upstream_of_first(s, from) || upstream_transposed(s, from) || upstream_shifted(s, from));
}

static bool none_beyond(const Suspect *s, const void *which, long i, long j) {
    int step = *(const int *)which; /* 1: looks for later uses than output i, -1: for earlier ones */
    for (long k = i + step; k >= 0 && k < s->e->outputs; k += step)
        if (jacobian(s, k, j) != 0) return false;
    return true;
}

typedef struct Slice {
    AlongAxis axis; /* of the output */
    long index;
} Slice;

static bool in_slice(const Suspect *s, const void *which, long i, long j) {
    const Slice *slice = which;
    (void)s, (void)j;
    return pattern_index_along(&slice->axis, i) == slice->index;
}

/* True if the input is repeated along this axis of the output. */
static bool broadcast_along(const Suspect *s, int axis) {
    int own = axis - (s->y_shape.rank - s->in->shape.rank);
    return s->y_shape.size[axis] > 1 && (own < 0 || s->in->shape.size[own] == 1);
}

bool pattern_broadcast_sum(Suspect *s) {
    for (int axis = 0; axis < s->y_shape.rank; axis++) {
        if (s->y_shape.rank < s->in->shape.rank || !broadcast_along(s, axis)) continue;
        for (long index = 0; index < s->y_shape.size[axis]; index++) {
            Slice slice = {pattern_along(s->y_shape, axis), index};
            if (fits_sum(s, in_slice, &slice, true))
                return pattern_say(
                    s, "the sum over axis %d of the output is missing: only what is at its index %ld counts",
                    axis, index);
        }
    }
    return false;
}

/* Whether each element has two uses at most: that one of two counts may be for another reason. */
static bool has_few_uses(const Suspect *s) {
    enum { FEW = 2 };
    for (long j = 0; j < s->e->coordinates; j++) {
        long uses = 0;
        for (long i = 0; i < s->e->outputs; i++) uses += jacobian(s, i, j) != 0;
        if (uses > FEW) return false;
    }
    return true;
}

bool pattern_one_use(Suspect *s) {
    for (int step = 1; step >= -1; step -= 2) {
        if (!fits_sum(s, none_beyond, &step, true)) continue;
        s->said.weak = has_few_uses(s);
        return pattern_say(
            s, "overwritten instead of accumulated: of an element's several uses only the %s counts",
            step == 1 ? "last" : "first");
    }
    return false;
}

static bool some_beyond(const Suspect *s, const void *which, long i, long j) {
    return !none_beyond(s, which, i, j);
}

/* As when a loop ends one too early. */
bool pattern_use_left_out(Suspect *s) {
    for (int step = 1; step >= -1; step -= 2) {
        if (!fits_sum(s, some_beyond, &step, true)) continue;
        s->said.weak = has_few_uses(s);
        return pattern_say(s, "of an element's several uses all count but the %s",
                           step == 1 ? "last" : "first");
    }
    return false;
}

static bool is_own(const Suspect *s, const void *which, long i, long j) {
    (void)s, (void)which;
    return i == j;
}

/* As when of softmax's derivative only y (1 - y) is there. */
bool pattern_diagonal(Suspect *s) {
    return s->e->outputs == s->e->coordinates && fits_sum(s, is_own, NULL, true) &&
           pattern_say(s, "only an element's effect on its own output counts: the effects on the others, off "
                          "the Jacobian's "
                          "diagonal, are missing");
}

/* One tensor that is passed twice, taken apart: only one of its gradients arrives. */
bool pattern_one_argument(Suspect *s) {
    CheckRun *run = s->run;
    CheckPoint *given = run->point, apart;
    for (int k = 0; k < given->inputs; k++) {
        if (given->in[k].same_as != s->e->input) continue;
        CheckPoint separate = *given;
        for (int i = 0; i < given->inputs; i++) separate.in[i].same_as = -1;
        point_lay_out(&apart, s->arena, &separate, (CheckLayout[CHECK_INPUTS]){0});
        for (int i = 0; i < given->inputs; i++) {
            if (i != s->e->input && given->in[i].same_as != s->e->input) continue;
            if (pattern_fits_at(s, &apart, i))
                return pattern_say(
                    s,
                    "overwritten instead of accumulated: passed more than once, only its use as argument %d "
                    "counts",
                    i + 1);
        }
    }
    return false;
}
