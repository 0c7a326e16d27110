/* Which elements have an effect on which outputs, and by how much more or less than they should: whatever the values are. */
#include "check/gradcheck/patterns.h"
#include <math.h>
#include <stdio.h>

/* ---- The way that backward runs ---- */

/* On which side of an output's own index the elements lie that have an effect on it. */
typedef struct Sides {
    long before, after;
} Sides;

static Sides sides_of(const Suspect *s, const double *jacobian, const AlongAxis *x, const AlongAxis *y) {
    Sides found = {0, 0};
    for (long i = 0; i < s->e->outputs; i++)
        for (long j = 0; j < s->e->coordinates; j++) {
            long at = (1 + i) * s->e->coordinates + j,
                 by = pattern_index_along(x, j) - pattern_index_along(y, i);
            bool effect = !pattern_near(s, at, jacobian[at], 0);
            found.before += effect && by < 0, found.after += effect && by > 0;
        }
    return found;
}

/* As when a recurrence, or a cumulative sum, is gone through in the order of forward. */
bool pattern_direction(Suspect *s) {
    enum { LEAST = 3 };
    if (!pattern_has_jacobian(s)) return false;
    for (int axis = 0; axis < s->shape.rank; axis++)
        for (int out = 0; out < s->y_shape.rank; out++) {
            AlongAxis x = pattern_along(s->shape, axis), y = pattern_along(s->y_shape, out);
            if (x.n != y.n || x.n < LEAST) continue;
            Sides need = sides_of(s, s->numeric, &x, &y), found = sides_of(s, s->analytic, &x, &y);
            bool causal = need.before >= LEAST && !need.after && found.after >= LEAST && !found.before;
            bool other = need.after >= LEAST && !need.before && found.before >= LEAST && !found.after;
            if (!causal && !other) continue;
            return pattern_say(
                s,
                "an output depends on what comes %s it along axis %d of %s; here gradients arrive as if it "
                "were on what comes %s it: backward runs in the wrong direction",
                causal ? "before" : "after", axis, s->in->name, causal ? "after" : "before");
        }
    return false;
}

/* ---- Ones at the wrong place ---- */

/* The error of an entry for an upstream gradient of 1. */
static double error_at(const Suspect *s, long at) {
    double c = s->e->outputs == 1 ? s->e->cotangent[at / s->e->coordinates] : 1;
    return (s->analytic[at] - s->numeric[at]) / c;
}

/* A whole number, or one over it. */
static bool is_share(double v) {
    const double room = 1e-6, most = 1000;
    double n = v < 1 ? 1 / v : v;
    return n < most && fabs(n - round(n)) <= room * n;
}

/* As when a count, or the one of p - 1, goes to another element. */
bool pattern_ones(Suspect *s) {
    enum { LEAST = 2, MOST = 3 };
    const double room = 1e-6;
    const Entries *e = s->e;
    if (e->outputs > 1 && !pattern_has_jacobian(s)) return false;
    long first = e->outputs > 1 ? e->coordinates : 0,
         last = e->outputs > 1 ? (1 + e->outputs) * e->coordinates : e->coordinates;
    double one = INFINITY;
    long errors = 0, up = -1, down = -1;
    for (long at = first; at < last; at++) {
        if (e->entry[at].state == ENTRY_KINK || pattern_near(s, at, s->analytic[at], s->numeric[at]))
            continue;
        double off = error_at(s, at);
        if (!isfinite(off)) return false;
        one = fmin(one, fabs(off));
        if (off > 0 && up < 0) up = at;
        if (off < 0 && down < 0) down = at;
        if (s->numeric[at] == 0 || is_share(fabs(s->numeric[at]))) return false; /* it is made of such */
        errors++;
    }
    if (errors < LEAST || !is_share(one)) return false;
    for (long at = first; at < last; at++) {
        if (e->entry[at].state == ENTRY_KINK || pattern_near(s, at, s->analytic[at], s->numeric[at]))
            continue;
        double times = fabs(error_at(s, at)) / one;
        if (times > MOST || fabs(times - round(times)) > room * times) return false;
    }
    char index[INDEX_TEXT], some[2][2 * REPORT_NAME] = {"", ""};
    for (int k = 0; k < 2; k++) {
        long at = k ? down : up;
        if (at < 0) continue;
        snprintf(some[k], sizeof some[k], "%s%s%s is off by %+.6g", k && up >= 0 ? ", " : "", s->in->name,
                 s->shape.rank ? gradcheck_index_text(index, s->shape, at % e->coordinates) : "",
                 error_at(s, at));
    }
    return pattern_say(s,
                       "for an upstream gradient of 1 the errors are whole multiples of %.6g, as %s%s: a "
                       "one, or a count, is "
                       "missing, or stands at the wrong element",
                       one, some[0], some[1]);
}
