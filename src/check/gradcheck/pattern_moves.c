/* Right numbers at wrong places: strides, transposes, wrong indices. */
#include "check/gradcheck/check_batch.h"
#include "check/gradcheck/patterns.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Whether a gradient for cotangent q is right. */
static bool is_needed(const Suspect *s, long q, const real *gradient) {
    long own = s->e->coordinates;
    for (long j = 0; j < own; j++) {
        long at = q * own + j;
        double sum = 0;
        for (long i = j; i < s->in->count; i += own) sum += (double)gradient[i];
        if (s->e->entry[at].state != ENTRY_KINK && !pattern_near(s, at, sum, s->numeric[at])) return false;
    }
    return true;
}

/* The gradient of the same values laid out contiguously, where they are not. */
bool pattern_strides(Suspect *s) {
    CheckRun *run = s->run;
    CheckPoint *given = run->point, contiguous;
    bool strided = false, right = true;
    for (int i = 0; i < given->inputs; i++) strided |= !tensor_contiguous(&given->in[i].tensor);
    if (!strided) return false;
    point_lay_out(&contiguous, s->arena, given, (CheckLayout[CHECK_INPUTS]){0});
    run->point = &contiguous;
    CheckBatch b;
    check_batch_open_backward(&b, run, s->arena, s->e->outputs, s->e->cotangents);
    for (long q = 0, runs; q < s->e->cotangents && right; q += runs) {
        runs = check_batch_backward(&b, s->e->cotangent + q * s->e->outputs, s->e->cotangents - q, 0);
        for (long i = 0; i < runs && right; i++)
            right = is_needed(s, q + i, check_batch_gradient(&b, i, s->e->input));
    }
    run->point = given;
    return right &&
           pattern_say(s, "right where the inputs are contiguous, wrong for the strides they have here");
}

/* Whether element j has the gradient of from[j]. */
static bool fits_moved(Suspect *s, const long *from) {
    bool moves = false;
    for (long j = 0; j < s->e->coordinates; j++) moves |= from[j] != j;
    for (long at = 0; at < s->e->cotangents * s->e->coordinates; at++) {
        long j = at % s->e->coordinates;
        s->expected[at] = from[j] < 0 ? s->analytic[at] : s->numeric[at - j + from[j]];
    }
    return moves && pattern_fits(s);
}

/* All orders of the axes; the next one in `order`, which begins ascending. */
static bool next_order(int *order, int rank) {
    int i = rank - 2, j = rank - 1;
    while (i >= 0 && order[i] > order[i + 1]) i--;
    if (i < 0) return false;
    while (order[j] < order[i]) j--;
    int kept = order[i];
    order[i] = order[j], order[j] = kept;
    for (int a = i + 1, b = rank - 1; a < b; a++, b--) kept = order[a], order[a] = order[b], order[b] = kept;
    return true;
}

static bool is_transposed(Suspect *s, long *from) {
    int rank = s->shape.rank, order[MAX_RANK];
    if (rank < 2 || rank > 4) return false;
    for (int i = 0; i < rank; i++) order[i] = i;
    while (next_order(order, rank)) {
        for (long j = 0; j < s->e->coordinates; j++) {
            long place = 0;
            for (int i = 0; i < rank; i++) {
                AlongAxis a = pattern_along(s->shape, order[i]);
                place = place * a.n + pattern_index_along(&a, j);
            }
            from[place] = j;
        }
        if (fits_moved(s, from))
            return pattern_say(s, "it is the right gradient with its axes in another order (transposed)");
    }
    return false;
}

/* The gradient of its neighbour (the edge may have any), of the other end, or of one end for all. */
bool pattern_moved(Suspect *s) {
    enum { LEAST = 3 };
    long *from = arena_alloc(s->arena, (size_t)s->e->coordinates * sizeof *from);
    if (is_transposed(s, from)) return true;
    for (int axis = 0; axis < s->shape.rank; axis++) {
        AlongAxis a = pattern_along(s->shape, axis);
        for (int way = 0; way < 5 && a.n >= LEAST; way++) {
            for (long j = 0; j < s->e->coordinates; j++) {
                long i = pattern_index_along(&a, j), to[] = {i - 1, i + 1, a.n - 1 - i, 0, a.n - 1};
                from[j] = to[way] < 0 || to[way] >= a.n ? -1 : j + (to[way] - i) * a.inner;
            }
            static const char *const text[] = {
                "each element has the gradient of the one before it",
                "each element has the gradient of the one after it", "the gradients are in reverse order",
                "all elements have the gradient of the first. Is the index used?",
                "all elements have the gradient of the last. Is the index used?"};
            if (fits_moved(s, from)) return pattern_say(s, "along axis %d %s", axis, text[way]);
        }
    }
    return false;
}

/* As when a cumulative sum, a rotation or a product with a matrix goes the same way in backward as in forward. */
bool pattern_jacobian(Suspect *s) {
    const Entries *e = s->e;
    long n = e->coordinates;
    if (!pattern_has_jacobian(s) || e->outputs != n || n < 2) return false;
    for (long j = 0; j < n; j++) {
        s->expected[j] = 0;
        for (long i = 0; i < n; i++) {
            double slope = s->numeric[(1 + j) * n + i]; /* ∂y_j/∂x_i */
            s->expected[(1 + i) * n + j] = slope;
            s->expected[j] += (double)e->cotangent[i] * slope;
        }
    }
    return pattern_fits(s) &&
           pattern_say(s, "the Jacobian is used in place of its transpose: backward goes the same "
                          "way as forward (A for Aᵀ, or a cumulative sum in forward's direction)");
}

bool pattern_of_another_input(Suspect *s) {
    for (int k = 0; k < s->run->point->inputs; k++) {
        const Entries *other = &s->all[k];
        if (other == s->e || !other->entry || other->coordinates != s->e->coordinates) continue;
        for (long i = 0; i < s->e->cotangents * s->e->coordinates; i++)
            s->expected[i] = other->entry[i].numeric;
        if (pattern_fits(s)) return pattern_say(s, "it is the gradient of %s", s->run->point->in[k].name);
    }
    return false;
}

/* ---- Which effects are wrong ---- */

/* A set of entries: by the indices of the output along one axis and of the input along another, of one size. */
typedef struct Relation {
    const char *text; /* which outputs, for an element */
    bool (*holds)(long input, long output);
} Relation;

static bool same(long input, long output) {
    return input == output;
}
static bool others(long input, long output) {
    return input != output;
}
static bool later(long input, long output) {
    return output > input;
}
static bool earlier(long input, long output) {
    return output < input;
}
static bool two_later(long input, long output) {
    return output > input + 1;
}

static const Relation relations[] = {
    {"at its own index", same}, {"at other indices", others},  {"more than 1 later", two_later},
    {"that come later", later}, {"that come before", earlier},
};
enum { RELATIONS = sizeof relations / sizeof *relations };

/* Whether all wrong entries are in the set, and no right one is. */
static bool is_set(const Suspect *s, const AlongAxis *in, const AlongAxis *out, const Relation *r) {
    enum { LEAST = 3 };
    long wrong = 0, right = 0, n = s->e->coordinates;
    for (long at = n; at < (1 + s->e->outputs) * n; at++) {
        bool is_wrong = pattern_is_wrong(s, at),
             is_zero = !is_wrong && pattern_near(s, at, s->numeric[at], 0);
        if (is_zero) continue;
        if (is_wrong != r->holds(pattern_index_along(in, at % n), pattern_index_along(out, at / n - 1)))
            return false;
        wrong += is_wrong, right += !is_wrong;
    }
    return wrong >= LEAST && right >= LEAST;
}

/* "missing", "of the wrong sign": all wrong effects alike. */
static const char *how_wrong(const Suspect *s) {
    bool missing = true, sign = true, extra = true;
    for (long at = s->e->coordinates; at < (1 + s->e->outputs) * s->e->coordinates; at++) {
        if (!pattern_is_wrong(s, at)) continue;
        missing &= s->analytic[at] == 0, extra &= s->numeric[at] == 0;
        sign &= pattern_near(s, at, -s->analytic[at], s->numeric[at]);
    }
    return missing ? "missing" : sign ? "of the wrong sign" : extra ? "not 0" : "wrong";
}

/* As when the direct way from an element to its own output is forgotten, or a sum over time is cut after a step. */
bool pattern_related(Suspect *s) {
    if (!pattern_has_jacobian(s)) return false;
    const char *how = how_wrong(s);
    AlongAxis all = {0, s->e->coordinates, 1};
    for (int r = 0; r < 2 && s->e->outputs == s->e->coordinates && s->shape.rank != 1; r++)
        if (is_set(s, &all, &all, &relations[r]) && !(r == 1 && strcmp(how, "wrong") == 0))
            return pattern_say(
                s,
                r == 0 ? "an element's effect on its own output is %s. Its effect on others is right"
                       : "an element's effect on its own output is right. Its effect on others is %s",
                how);
    for (int r = 0; r < RELATIONS; r++)
        for (int p = 0; p < s->shape.rank; p++)
            for (int q = 0; q < s->y_shape.rank; q++) {
                AlongAxis in = pattern_along(s->shape, p), out = pattern_along(s->y_shape, q);
                if (in.n != out.n || in.n < 2 || (in.n == 2 && r >= 2) ||
                    !is_set(s, &in, &out, &relations[r]) || (r == 1 && strcmp(how, "wrong") == 0))
                    continue;
                return pattern_say(
                    s,
                    "an element's effect on outputs %s is %s, on others it is right (axis %d of the "
                    "output, axis %d of %s)%s",
                    relations[r].text, how, q, p, s->in->name,
                    r >= 2 ? ". A part of what is carried from one index to the next is wrong" : "");
            }
    return false;
}

/* ---- Wrong indices ---- */

/* The place of ±value in input k; -1: it is not there. */
static long find(const PointInput *in, double value, double tolerance) {
    for (long i = 0; i < in->count; i++)
        if (value != 0 && fabs(fabs((double)in->value[i]) - fabs(value)) <= tolerance * fabs(value)) return i;
    return -1;
}

/* Whether every effect on an output has to be a number of input k, and is another, or none. */
static bool reads_elsewhere(Suspect *s, const PointInput *in, long *entry, long *need, long *found) {
    enum { LEAST = 4 };
    const Entries *e = s->e;
    long numbers = 0, last = -1;
    double tolerance = fmin(s->tolerance, 1e-6);
    *entry = -1;
    for (long at = e->coordinates; at < (1 + e->outputs) * e->coordinates; at++) {
        if (e->entry[at].state == ENTRY_KINK) continue;
        if (pattern_near(s, at, s->numeric[at], 0) && pattern_near(s, at, s->analytic[at], 0)) continue;
        long here = find(in, s->analytic[at], tolerance), right = find(in, s->numeric[at], tolerance);
        if ((s->numeric[at] != 0 && right < 0) || (s->analytic[at] != 0 && here < 0)) return false;
        numbers += right >= 0 && right != last;
        last = right;
        if (*entry < 0 && here >= 0 && right >= 0 && here != right) *entry = at, *need = right, *found = here;
    }
    return *entry >= 0 && numbers >= LEAST;
}

/* As when a product's backward reads an operand at another index. */
bool pattern_operand_elsewhere(Suspect *s) {
    const CheckPoint *p = s->run->point;
    char element[REPORT_NAME], right[REPORT_NAME], wrong[REPORT_NAME];
    long entry, need = 0, found = 0;
    if (!pattern_has_jacobian(s)) return false;
    for (int k = 0; k < p->inputs; k++) {
        const PointInput *in = &p->in[k];
        if (k == s->e->input || in->count < 3 || !reads_elsewhere(s, in, &entry, &need, &found)) continue;
        return pattern_say(
            s, "%.40s is read at a wrong index: the gradient of %.60s uses %.60s instead of %.60s", in->name,
            pattern_element(element, s->in->name, s->shape, entry % s->e->coordinates),
            pattern_element(wrong, in->name, in->shape, found),
            pattern_element(right, in->name, in->shape, need));
    }
    return false;
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The numbers of one output (or one element), sorted, without those that are 0. Returns how many. */
static long sorted(const Suspect *s, const double *of, bool by_element, long which, double *out) {
    const Entries *e = s->e;
    long count = 0;
    for (long k = 0; k < (by_element ? e->outputs : e->coordinates); k++) {
        long at = by_element ? (1 + k) * e->coordinates + which : (1 + which) * e->coordinates + k;
        if (!pattern_near(s, at, of[at], 0)) out[count++] = of[at];
    }
    qsort(out, (size_t)count, sizeof *out, by_value);
    return count;
}

/* True if every number of `part`, sorted, is one of `all`. */
static bool is_part(const double *part, long n, const double *all, long of, double tolerance) {
    long k = 0;
    for (long i = 0; i < n; i++, k++) {
        double room = tolerance * fabs(part[i]);
        while (k < of && all[k] < part[i] - room) k++;
        if (k == of || all[k] > part[i] + room) return false;
    }
    return true;
}

/* Whether the numbers found for each output (or element) are its right ones; all but few of them, and distinct. */
static bool right_numbers_elsewhere(Suspect *s, bool by_element) {
    enum { LEAST = 6 };
    const Entries *e = s->e;
    long most = by_element ? e->outputs : e->coordinates, lost = 0, all = 0, distinct = 0;
    double *found = arena_alloc(s->arena, (size_t)most * sizeof *found);
    double *need = arena_alloc(s->arena, (size_t)most * sizeof *need);
    for (long k = 0; k < (by_element ? e->coordinates : e->outputs); k++) {
        long n = sorted(s, s->analytic, by_element, k, found),
             of = sorted(s, s->numeric, by_element, k, need);
        if (n > of || !is_part(found, n, need, of, s->tolerance)) return false;
        lost += of - n, all += of;
        for (long i = 1; i < of; i++) distinct += need[i] - need[i - 1] > s->tolerance * fabs(need[i]);
    }
    return all >= LEAST && 4 * distinct >= all && 4 * lost <= all;
}

/* As when backward forgets a dilation, or adds to the places of another row. */
bool pattern_elsewhere(Suspect *s) {
    const Entries *e = s->e;
    if (!pattern_has_jacobian(s)) return false;
    if (e->coordinates > 1 && right_numbers_elsewhere(s, false))
        return pattern_say(s, "the right numbers are added to the wrong elements. Is the index of d%s wrong?",
                           s->in->name);
    return e->outputs > 1 && right_numbers_elsewhere(s, true) &&
           pattern_say(
               s,
               "each element gets the right numbers of the wrong outputs. Is the upstream gradient read at "
               "another index?");
}
