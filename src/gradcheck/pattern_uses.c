/* Mistakes in summing over the uses of an element: an output that it goes to, or an argument. */
#include "gradcheck/patterns.h"
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

/* expected for cotangent q = what q would give if backward read the upstream gradient `by` elements further on. */
static void expect_shifted(Suspect *s, long q, long by) {
    const Entries *e = s->e;
    const real *dy = e->cotangent + q * e->outputs;
    for (long j = 0; j < e->coordinates; j++) s->expected[q * e->coordinates + j] = 0;
    for (long i = 0; i < e->outputs; i++) {
        double weight = i + by >= 0 && i + by < e->outputs ? (double)dy[i + by] : 0;
        for (long j = 0; j < e->coordinates; j++) {
            double slope = jacobian(s, i, j);
            if (isfinite(slope)) s->expected[q * e->coordinates + j] += weight * slope;
        }
    }
}

/* As when a part of a gradient is read from the start of the whole. */
bool pattern_upstream_shifted(Suspect *s) {
    const Entries *e = s->e;
    for (long by = 1 - e->outputs; e->whole && by < e->outputs; by++) {
        bool same = by != 0;
        for (long q = 0; q < e->cotangents && same; q++) {
            expect_shifted(s, q, by);
            for (long j = 0; j < e->coordinates && same; j++) {
                long at = q * e->coordinates + j;
                same =
                    e->entry[at].state == ENTRY_KINK || pattern_near(s, at, s->analytic[at], s->expected[at]);
            }
        }
        if (same)
            return pattern_say(s, "the upstream gradient is read %ld element%s too %s", labs(by),
                               labs(by) == 1 ? "" : "s", by < 0 ? "early" : "late");
    }
    return false;
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
                    s, "the sum over broadcast axis %d of the output is missing: only its slice %ld counts",
                    axis, index);
        }
    }
    return false;
}

bool pattern_one_use(Suspect *s) {
    for (int step = 1; step >= -1; step -= 2)
        if (fits_sum(s, none_beyond, &step, true))
            return pattern_say(
                s, "overwritten instead of accumulated: of an element's several uses only the %s counts",
                step == 1 ? "last" : "first");
    return false;
}

static bool some_beyond(const Suspect *s, const void *which, long i, long j) {
    return !none_beyond(s, which, i, j);
}

/* As when a loop ends one too early. */
bool pattern_use_left_out(Suspect *s) {
    for (int step = 1; step >= -1; step -= 2)
        if (fits_sum(s, some_beyond, &step, true))
            return pattern_say(s, "of an element's several uses all count but the %s",
                               step == 1 ? "last" : "first");
    return false;
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
