/* Mistakes that show in single entries of the Jacobian, ∂y_i/∂x_j: which of them are wrong, and how. */
#include "check/gradcheck/patterns.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef enum EntryIs {
    ENTRY_ZERO,    /* it is 0, and has to be */
    ENTRY_RIGHT,   /* right, and not 0 */
    ENTRY_MISSING, /* 0, and must not be */
    ENTRY_OFF,     /* wrong in another way */
} EntryIs;

static EntryIs entry_is(const Suspect *s, long i, long j) {
    long at = (1 + i) * s->e->coordinates + j;
    double found = s->analytic[at], need = s->numeric[at];
    if (s->e->entry[at].state == ENTRY_KINK || !isfinite(need)) return ENTRY_ZERO;
    if (pattern_near(s, at, found, need)) return pattern_near(s, at, need, 0) ? ENTRY_ZERO : ENTRY_RIGHT;
    return found == 0 ? ENTRY_MISSING : ENTRY_OFF;
}

/* "y[0,1]": an element of the output, or of the input. */
static const char *name_of(char text[REPORT_NAME], const char *name, Shape shape, long i) {
    char at[INDEX_TEXT];
    snprintf(text, REPORT_NAME, "%.24s%s", name, shape.rank ? gradcheck_index_text(at, shape, i) : "");
    return text;
}

/* ---- Where the wrong entries lie ---- */

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

/* How entries lie to a set: it explains the wrong ones if they are all in it and the right ones are not. */
typedef struct Tally {
    long wrong_in, wrong_out, right_in, right_out;
} Tally;

static bool explains(const Tally *t) {
    enum { LEAST = 3 };
    if (t->wrong_out || t->wrong_in < LEAST || t->right_out < LEAST) return false;
    return t->right_in == 0;
}

static Tally tally(const Suspect *s, const AlongAxis *in, const AlongAxis *out, const Relation *r) {
    Tally t = {0};
    for (long i = 0; i < s->e->outputs; i++)
        for (long j = 0; j < s->e->coordinates; j++) {
            EntryIs is = entry_is(s, i, j);
            if (is == ENTRY_ZERO) continue;
            bool holds = r->holds(pattern_index_along(in, j), pattern_index_along(out, i));
            bool right = is == ENTRY_RIGHT;
            t.right_in += right && holds, t.right_out += right && !holds;
            t.wrong_in += !right && holds, t.wrong_out += !right && !holds;
        }
    return t;
}

/* The factor by which all wrong effects are off, if it is one; NAN. */
static double factor_of_wrong(const Suspect *s) {
    double k = NAN;
    for (long i = 0; i < s->e->outputs; i++)
        for (long j = 0; j < s->e->coordinates; j++) {
            long at = (1 + i) * s->e->coordinates + j;
            EntryIs is = entry_is(s, i, j);
            if (is == ENTRY_ZERO || is == ENTRY_RIGHT) continue;
            if (s->numeric[at] == 0) return NAN;
            if (isnan(k)) k = s->analytic[at] / s->numeric[at];
            if (!pattern_near(s, at, s->analytic[at], k * s->numeric[at])) return NAN;
        }
    return k;
}

/* "missing", "of the wrong sign": what all wrong effects are. */
static const char *how_wrong(const Suspect *s, char text[REPORT_NAME]) {
    bool extra = true;
    double k = factor_of_wrong(s);
    for (long at = s->e->coordinates; at < (1 + s->e->outputs) * s->e->coordinates; at++) {
        EntryIs is = entry_is(s, at / s->e->coordinates - 1, at % s->e->coordinates);
        extra &= is == ENTRY_ZERO || is == ENTRY_RIGHT || s->numeric[at] == 0;
    }
    if (!isnan(k) && fabs(k) > s->tolerance && fabs(k + 1) > s->tolerance)
        snprintf(text, REPORT_NAME, "%.6g times what it has to be", k);
    else
        snprintf(text, REPORT_NAME, "%s",
                 extra      ? "not 0, as it must be"
                 : isnan(k) ? "wrong"
                 : k < -0.5 ? "of the wrong sign"
                            : "missing");
    return text;
}

/* As when the direct way from an element to its own output is forgotten, a sum over time is cut after a step, or a use of
 * a matrix that is used twice. */
bool pattern_related(Suspect *s) {
    if (!pattern_has_jacobian(s)) return false;
    char text[REPORT_NAME];
    const char *how = how_wrong(s, text);
    bool plain = strcmp(how, "wrong") == 0; /* then that all others are says little */
    if (s->e->outputs == s->e->coordinates && s->shape.rank != 1) {
        AlongAxis all = {0, s->e->coordinates, 1};
        for (int r = 0; r < 2; r++) {
            Tally t = tally(s, &all, &all, &relations[r]);
            if (explains(&t) && !(r == 1 && plain))
                return pattern_say(s,
                                   r == 0 ? "an element's effect on its own output is %s; that on all others "
                                            "is right: the direct way from one to the other"
                                          : "an element's effect on its own output is right, that on others "
                                            "is %s: what couples the elements",
                                   how);
        }
    }
    for (int r = 0; r < RELATIONS; r++)
        for (int p = 0; p < s->shape.rank; p++)
            for (int q = 0; q < s->y_shape.rank; q++) {
                AlongAxis in = pattern_along(s->shape, p), out = pattern_along(s->y_shape, q);
                if (in.n != out.n || in.n < 2 || (in.n == 2 && r >= 2)) continue;
                Tally t = tally(s, &in, &out, &relations[r]);
                if (!explains(&t) || (r == 1 && plain)) continue;
                bool carried = r >= 2; /* what is its own is right, and what comes of it further on is not */
                return pattern_say(
                    s,
                    "an element's effect on outputs %s is %s, on others it is right: along axis %d of "
                    "the output and axis %d of %s%s",
                    relations[r].text, how, q, p, s->in->name,
                    carried ? "; what is carried from one index to the next is wrong, or a part of it" : "");
            }
    return false;
}

/* Where that is not known, at least that all wrong ones are wrong in one way. */
bool pattern_some_entries(Suspect *s) {
    enum { LEAST = 4 };
    char x[REPORT_NAME], y[REPORT_NAME], text[REPORT_NAME];
    long right = 0, wrong = 0, first = -1;
    if (!pattern_has_jacobian(s) || s->e->outputs < 2) return false;
    for (long at = 0; at < s->e->outputs * s->e->coordinates; at++) {
        EntryIs is = entry_is(s, at / s->e->coordinates, at % s->e->coordinates);
        right += is == ENTRY_RIGHT;
        if (is == ENTRY_ZERO || is == ENTRY_RIGHT) continue;
        if (wrong++ == 0) first = at;
    }
    const char *how = how_wrong(s, text);
    if (right < LEAST || wrong == 0 || strcmp(how, "wrong") == 0) return false;
    name_of(x, s->in->name, s->shape, first % s->e->coordinates);
    name_of(y, "", s->y_shape, first / s->e->coordinates);
    return pattern_say(
        s,
        "of the effects of elements on outputs %ld are right; the %ld others, as that of %s on output%s, "
        "are each %s: a bound, a mask, a branch or an index?",
        right, wrong, x, y, how);
}

/* ---- The right numbers, at the wrong places ---- */

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

/* True if what is wrong is 0 where it must not be, or not where it must. */
static bool only_moved(const Suspect *s) {
    for (long i = 0; i < s->e->outputs; i++)
        for (long j = 0; j < s->e->coordinates; j++)
            if (entry_is(s, i, j) == ENTRY_OFF && s->numeric[(1 + i) * s->e->coordinates + j] != 0)
                return false;
    return true;
}

/* Whether what is found for each output (or element) are its right numbers elsewhere; all but few of them. */
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
    return all >= LEAST && (4 * distinct >= all ? 4 * lost <= all : lost == 0 && only_moved(s));
}

static bool any_off(const Suspect *s) {
    for (long i = 0; i < s->e->outputs; i++)
        for (long j = 0; j < s->e->coordinates; j++)
            if (entry_is(s, i, j) == ENTRY_OFF) return true;
    return false;
}

/* As when backward forgets a dilation, or adds to the places of another row. */
bool pattern_elsewhere(Suspect *s) {
    char x[REPORT_NAME], right[REPORT_NAME], y[REPORT_NAME];
    const Entries *e = s->e;
    if (!pattern_has_jacobian(s) || !any_off(s)) return false;
    if (e->coordinates > 1 && right_numbers_elsewhere(s, false)) {
        if (pattern_misplaced(s)) return true; /* that says more */
        for (long at = e->coordinates; at < (1 + e->outputs) * e->coordinates; at++) {
            long i = at / e->coordinates - 1, own = -1;
            if (entry_is(s, i, at % e->coordinates) != ENTRY_OFF) continue;
            for (long j = 0; j < e->coordinates && own < 0; j++)
                if (pattern_near(s, at, s->analytic[at], s->numeric[(1 + i) * e->coordinates + j])) own = j;
            if (own < 0) continue;
            name_of(x, s->in->name, s->shape, at % e->coordinates);
            name_of(right, s->in->name, s->shape, own);
            return pattern_say(s,
                               "the right numbers at the wrong elements: what output%s gives to %s is "
                               "added to %s: an index is wrong",
                               name_of(y, "", s->y_shape, i), right, x);
        }
    }
    return e->outputs > 1 && right_numbers_elsewhere(s, true) &&
           pattern_say(
               s,
               "each element has the right numbers from the wrong outputs: the upstream gradient is read at "
               "another index");
}
