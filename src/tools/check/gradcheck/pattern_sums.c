/* Sums over the uses of an element, over the outputs, and over an axis. */
#include "base/append.h"
#include "check/gradcheck/patterns.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool pattern_missing(Suspect *s) {
    for (long i = 0; i < s->entries; i++)
        if (s->analytic[i] != 0) return false;
    return pattern_say(s, "no gradient arrives: it is 0 everywhere");
}

/* ---- Upstream gradients and uses ---- */

/* Copies the Jacobian, [outputs][coordinates]. */
static double *copy_jacobian(const Suspect *s) {
    long n = s->n, count = s->outputs * n;
    double *copy = arena_alloc(s->arena, (size_t)count * sizeof *copy);
    for (long at = 0; at < count; at++)
        if (isfinite(s->numeric[n + at])) copy[at] = s->numeric[n + at];
    return copy;
}

enum { READS_ONE = -1, READS_NOTHING = -2 };

/* Whether the gradient comes from this Jacobian if for output i the upstream gradient at from[i] is read, or 1 or 0 in its
 * place. */
static bool fits_product(Suspect *s, const double *jacobian, const long *from) {
    const Entries *e = s->e;
    long n = e->coordinates;
    for (long q = 0; q < e->cotangents; q++) {
        double *row = memset(s->expected + q * n, 0, (size_t)n * sizeof *row);
        for (long i = 0; i < e->outputs; i++) {
            const real *dy = e->cotangent + q * e->outputs;
            double w = from[i] < 0 ? from[i] == READS_ONE : (double)dy[from[i]];
            for (long j = 0; w != 0 && j < n; j++) row[j] += w * jacobian[i * n + j];
        }
        for (long j = 0, at = q * n; j < n; j++, at++)
            if (e->entry[at].state != ENTRY_KINK && !pattern_near(s, at, s->analytic[at], row[j]))
                return false;
    }
    return true;
}

/* from[i] = i: each output reads its own upstream gradient. */
static long *own_places(const Suspect *s) {
    long *from = arena_alloc(s->arena, (size_t)s->outputs * sizeof *from);
    for (long i = 0; i < s->outputs; i++) from[i] = i;
    return from;
}

bool pattern_upstream_ignored(Suspect *s) {
    long *from = own_places(s);
    for (long i = 0; i < s->outputs; i++) from[i] = READS_ONE;
    return fits_product(s, copy_jacobian(s), from) &&
           pattern_say(s, "the upstream gradient is not used: the result is that for an upstream "
                          "gradient of 1");
}

bool pattern_upstream_elsewhere(Suspect *s) {
    long n = s->outputs, *from = own_places(s);
    const double *jacobian = copy_jacobian(s);
    Shape y = s->y_shape;
    for (int axis = 0; axis < y.rank; axis++) {
        for (long i = 0; i < n; i++) from[i] = pattern_at_index(y, axis, i, 0);
        if (y.size[axis] > 1 && fits_product(s, jacobian, from))
            return pattern_say(
                s, "the upstream gradient at index 0 of axis %d is used for the whole axis", axis);
    }
    if (y.rank > 1) {
        long rows = y.size[y.rank - 2], columns = y.size[y.rank - 1];
        for (long i = 0; i < n; i++) {
            long row = i / columns % rows, column = i % columns;
            from[i] = i - row * columns - column + column * rows + row;
        }
        if (rows > 1 && columns > 1 && fits_product(s, jacobian, from))
            return pattern_say(s, "the upstream gradient is read as if it were transposed");
    }
    for (long by = 1 - n; by < n; by++) {
        for (long i = 0; i < n; i++) from[i] = i + by >= 0 && i + by < n ? i + by : READS_NOTHING;
        const char *plural = labs(by) == 1 ? "" : "s", *way = by < 0 ? "early" : "late";
        if (by && fits_product(s, jacobian, from))
            return pattern_say(s, "the upstream gradient is read %ld element%s too %s", labs(by),
                               plural, way);
    }
    return false;
}

bool pattern_one_use(Suspect *s) {
    long n = s->n, outputs = s->outputs;
    for (int last = 1; last >= 0; last--) {
        double *jacobian = copy_jacobian(s);
        for (long j = 0; j < n; j++) {
            bool used = false;
            for (long k = 0; k < outputs; k++) {
                double *slope = &jacobian[(last ? outputs - 1 - k : k) * n + j];
                if (used) *slope = 0;
                used |= *slope != 0;
            }
        }
        if (fits_product(s, jacobian, own_places(s)))
            return pattern_say(
                s, "overwritten instead of accumulated: only the %s use of each element counts",
                last ? "last" : "first");
    }
    return false;
}

bool pattern_broadcast_sum(Suspect *s) {
    long *from = own_places(s);
    const double *jacobian = copy_jacobian(s);
    Shape y = s->y_shape;
    for (int axis = 0; axis < y.rank && y.rank >= s->in->shape.rank; axis++) {
        int own = axis - (y.rank - s->in->shape.rank);
        bool repeated = own < 0 || s->in->shape.size[own] == 1;
        for (long index = 0; repeated && y.size[axis] > 1 && index < y.size[axis]; index++) {
            for (long i = 0; i < s->outputs; i++)
                from[i] = pattern_index(y, axis, i) == index ? i : READS_NOTHING;
            if (fits_product(s, jacobian, from))
                return pattern_say(
                    s, "the sum over axis %d of the output is missing: only index %ld counts", axis,
                    index);
        }
    }
    return false;
}

/* An example is a cumulative sum, rotation or matrix product that goes the same way in backward as in forward. */
bool pattern_jacobian(Suspect *s) {
    long n = s->n;
    if (s->outputs != n || n < 2) return false;
    const double *jacobian = copy_jacobian(s);
    double *transposed = copy_jacobian(s);
    for (long i = 0; i < n * n; i++) transposed[i % n * n + i / n] = jacobian[i];
    return fits_product(s, transposed, own_places(s)) &&
           pattern_say(s, "the Jacobian is used in place of its transpose: backward goes the same "
                          "way as forward (A for Aᵀ, or a cumulative sum in forward's direction)");
}

/* ---- Terms ---- */

/* Groups of elements: those of a group differ only by their indices along some axes. */
typedef struct Groups {
    char axes[REPORT_WORD]; /* "axis 1", "axes 0 and 2" */
    long count, size;       /* of groups, of each */
    long *of;               /* the group of each element */
    double *ve, *vv;        /* [count] */
} Groups;

static Groups group(const Suspect *s, unsigned axes) {
    Groups g = {.axes = "", .count = 1};
    long n = s->n;
    g.of = arena_alloc(s->arena, (size_t)n * sizeof *g.of);
    for (int axis = 0; axis < s->shape.rank; axis++) {
        if (axes >> axis & 1) {
            const char *first = axes & (axes - 1) ? "axes " : "axis ";
            text_append(g.axes, sizeof g.axes, "%s%d", *g.axes ? " and " : first, axis);
            continue;
        }
        for (long i = 0; i < n; i++)
            g.of[i] = g.of[i] * s->shape.size[axis] + pattern_index(s->shape, axis, i);
        g.count *= s->shape.size[axis];
    }
    g.size = n / g.count;
    g.ve = arena_alloc(s->arena, (size_t)g.count * sizeof *g.ve);
    g.vv = arena_alloc(s->arena, (size_t)g.count * sizeof *g.vv);
    return g;
}

/* True if in every group the error is a multiple of v. */
static bool error_is_multiple(const Suspect *s, const Groups *g, const double *v) {
    long n = s->n;
    for (long q = 0; q < s->rows; q++) {
        for (long k = 0; k < g->count; k++) g->ve[k] = g->vv[k] = 0;
        for (long j = 0; j < n; j++) {
            g->ve[g->of[j]] += v[j] * (s->analytic[q * n + j] - s->numeric[q * n + j]);
            g->vv[g->of[j]] += v[j] * v[j];
        }
        for (long j = 0; j < n; j++) {
            double vv = g->vv[g->of[j]], error = vv > 0 ? g->ve[g->of[j]] / vv * v[j] : 0;
            if (!pattern_near(s, q * n + j, s->analytic[q * n + j], s->numeric[q * n + j] + error))
                return false;
        }
    }
    return true;
}

/* Sets v to a form of the values of input `which`: themselves, e to their power, less their mean in each group. */
static bool take_form(const Suspect *s, const Groups *g, int which, int form, double *v, char *text,
                      size_t size) {
    static const char *const forms[] = {"%.40s", "exp(%.40s)", "(%.40s minus its mean)"};
    const char *name = "1";
    long n = s->n;
    for (long j = 0; j < n; j++) v[j] = 1;
    if (which >= 0 && !pattern_values_over(s, s->shape, which, v, &name)) return false;
    snprintf(text, size, forms[form], name);
    for (long j = 0; form == 1 && j < n; j++) v[j] = exp(v[j]);
    if (form < 2) return true;
    for (long k = 0; k < g->count; k++) g->ve[k] = 0;
    for (long j = 0; j < n; j++) g->ve[g->of[j]] += v[j] / (double)g->size;
    for (long j = 0; j < n; j++) v[j] -= g->ve[g->of[j]];
    return true;
}

/* In every group the error is a multiple of 1 or of known values. Examples are layer norm without the mean of the gradient,
 * and softmax without Σ dy y. */
bool pattern_term(Suspect *s) {
    enum { MIN = 3, FORMS = 3 };
    double *v = arena_alloc(s->arena, (size_t)s->n * sizeof *v);
    char text[REPORT_NAME];
    for (int axes = 1; axes <= s->shape.rank; axes++)
        for (unsigned set = (1u << s->shape.rank) - 1; set > 0; set--) {
            int bits = 0;
            for (unsigned left = set; left; left &= left - 1) bits++;
            if (bits != axes) continue;
            Groups g = group(s, set);
            for (int k = -1; k < FORMS * (s->point->inputs + 1) && g.size >= MIN; k++) {
                int which = k < 0 ? -1 : s->point->inputs - k / FORMS;
                if (!take_form(s, &g, which, k < 0 ? 0 : k % FORMS, v, text, sizeof text) ||
                    !error_is_multiple(s, &g, v))
                    continue;
                return k < 0 ? pattern_say(s,
                                           "the error is constant along %s. A term that is the "
                                           "same along it, "
                                           "such as a sum, is missing, wrong or one too many",
                                           g.axes)
                             : pattern_say(
                                   s,
                                   "the error is %s times a number that is the same along %s. A "
                                   "term, "
                                   "such as a sum times %s, is missing, wrong or one too many",
                                   text, g.axes, text);
            }
        }
    return false;
}
