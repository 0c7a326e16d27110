/* Where a gradient is wrong, if not how. */
#include "check/gradcheck/patterns.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

/* A set of elements, or of outputs; `idle` are those at which 0 is found and needed: they say nothing. */
typedef struct Wrong {
    const bool *wrong, *idle;
    long n, count; /* all, and those that are wrong */
    bool lost;     /* at those that are wrong 0 is found */
} Wrong;

static Wrong wrong_set(const bool *wrong, const bool *idle, long n) {
    Wrong w = {wrong, idle, n, 0, false};
    for (long j = 0; j < n; j++) w.count += wrong[j];
    return w;
}

/* How surprising it is that the wrong ones, and they alone, have some of the values: in bits, as if as many values were drawn
 * by chance. */
static double surprise(const Wrong *w, const double *v) {
    long values = 0, wrong = 0;
    double bits = 0;
    for (long j = 0; j < w->n; j++) {
        bool new = !w->idle[j];
        for (long i = 0; i < j && new; i++) new = w->idle[i] || v[i] != v[j];
        values += new, wrong += new && w->wrong[j];
    }
    for (long k = 0; k < wrong && wrong < values; k++)
        bits += log2((double)(values - k) / (double)(wrong - k));
    return bits;
}

static bool same_set(const bool *a, const Wrong *w) {
    for (long j = 0; j < w->n; j++)
        if (!w->idle[j] && a[j] != w->wrong[j]) return false;
    return true;
}

/* How many numbers input `which` has, or for which = inputs the output. */
static long own_values(const Suspect *s, int which) {
    const CheckPoint *p = s->run->point;
    return which < p->inputs ? p->in[which].count : s->e->outputs;
}

/* "x is < 0": what the elements of the set, and they alone, have in common; false if nothing. */
static bool sign_condition(Suspect *s, const Wrong *w, char *text, size_t size) {
    /* Of few elements some condition is true by chance: of the element's own sign or of a mask, which often is, it takes
     * fewer than of another. */
    enum { EVIDENCE = 5, MORE_EVIDENCE = 12 };
    const double bits = 3.5;
    if (w->n < EVIDENCE) return false;
    static const char *const form_text[] = {"< 0", "> 0", "= 0", "infinite", "> 1", "< -1"};
    bool *set = arena_alloc(s->arena, (size_t)w->n);
    double *v = arena_alloc(s->arena, (size_t)w->n * sizeof *v);
    for (int which = 0; which <= s->run->point->inputs; which++) {
        const char *name;
        if (!pattern_values_beside(s, which, v, &name)) continue;
        for (int form = 0; form < 6; form++) {
            for (long j = 0; j < w->n; j++)
                set[j] = (bool[]){v[j]<0, v[j]> 0, v[j] == 0, isinf(v[j]), v[j] > 1, v[j] < -1}[form];
            bool likely = (which == s->e->input && form < 2) || form == 2 || form == 3;
            if (!same_set(set, w) || (!likely && own_values(s, which) < MORE_EVIDENCE)) continue;
            if (form < 2 && surprise(w, v) < bits) continue;
            snprintf(text, size, "%s is %s", name, form_text[form]);
            return true;
        }
    }
    return false;
}

/* Whether the set is where v is above some number, which is set to one between; or below one, with side = -1. */
static bool is_beyond(const Wrong *w, const double *v, int side, double *number) {
    double wrong = INFINITY, right = -INFINITY;
    for (long j = 0; j < w->n; j++) {
        if (w->idle[j]) continue;
        if (w->wrong[j])
            wrong = fmin(wrong, side * v[j]);
        else
            right = fmax(right, side * v[j]);
    }
    *number = side * (right < 0 && wrong > 0 ? 0 : (wrong + right) / 2);
    return wrong > right && isfinite(*number);
}

/* "x is above target": the set is where two values, or their difference, compare so. */
static bool comparison(Suspect *s, const Wrong *w, char *text, size_t size) {
    const double evidence = 9;
    int values = s->run->point->inputs + 1;
    double *v = arena_alloc(s->arena, (size_t)w->n * sizeof *v);
    double *other = arena_alloc(s->arena, (size_t)w->n * sizeof *other), number;
    const char *name, *beside;
    for (int i = 0; i < values * (values + 1); i++) {
        int b = i % (values + 1) - 1; /* -1: the value by itself */
        if (b >= i / (values + 1) || !pattern_values_beside(s, i / (values + 1), v, &name)) continue;
        if (b >= 0 && !pattern_values_beside(s, b, other, &beside)) continue;
        for (long j = 0; b >= 0 && j < w->n; j++) v[j] -= other[j];
        for (int absolute = 0; absolute < 2; absolute++)
            for (int side = -1; side <= 1; side += 2) {
                for (long j = 0; absolute && j < w->n; j++) v[j] = fabs(v[j]);
                if (!is_beyond(w, v, side, &number) || surprise(w, v) < evidence) continue;
                const char *bar = absolute ? "|" : "", *how = side > 0 ? "above" : "below";
                if (b >= 0 && number == 0)
                    snprintf(text, size, "%s is %s %s", name, how, beside);
                else if (b >= 0)
                    snprintf(text, size, "%s%s - %s%s is %s about %.3g", bar, name, beside, bar, how, number);
                else
                    snprintf(text, size, "%s%s%s is %s about %.3g", bar, name, bar, how, number);
                return true;
            }
    }
    return false;
}

static bool condition(Suspect *s, const Wrong *w, char *text, size_t size) {
    return w->count > 0 && (sign_condition(s, w, text, size) || comparison(s, w, text, size));
}

/* True if the elements of the set have one index along the axis. */
static bool at_one_index(const AlongAxis *a, const Wrong *w, long *index) {
    *index = -1;
    if (a->n < 2) return false;
    for (long i = 0; i < w->n; i++) {
        if (!w->wrong[i]) continue;
        if (*index < 0) *index = pattern_index_along(a, i);
        if (pattern_index_along(a, i) != *index) return false;
    }
    return *index >= 0;
}

void pattern_numbers_text(const bool *set, long n, char *text, size_t size) {
    text[0] = 0;
    for (long i = 0, end; i < n; i = end) {
        for (end = i + 1; set[i] && end < n && set[end]; end++) continue;
        size_t used = strlen(text);
        if (!set[i]) continue;
        snprintf(text + used, size - used, end - i > 1 ? "%s%ld to %ld" : "%s%ld", used ? ", " : "", i,
                 end - 1);
    }
}

/* Of all that an index along the axis decides: which indices it is, and how many axes come before, may differ from case to
 * case. */
static uint64_t form_along(Shape shape, int axis, const char *of) {
    char text[REPORT_NAME];
    snprintf(text, sizeof text, "along axis %d%s", shape.rank - axis, of);
    return pattern_form(text);
}

/* Whether all that is wrong has one index along an axis. Where that is the last, and what comes before is right, another case
 * with more indices may show that it is all from there on: a second reading. */
static bool only_at(Suspect *s, Shape shape, const Wrong *w, const char *which, const char *of) {
    enum { ENOUGH = 3 };
    for (int axis = 0; axis < shape.rank; axis++) {
        AlongAxis a = pattern_along(shape, axis);
        long index, rights = 0;
        bool *right = arena_alloc(s->arena, (size_t)a.n + 1);
        if (!at_one_index(&a, w, &index)) continue;
        for (long i = 0; i < w->n; i++) right[pattern_index_along(&a, i)] |= !w->idle[i] && !w->wrong[i];
        for (long i = 0; i < a.n; i++) rights += right[i];
        bool last = index == a.n - 1, until = last && right[index - 1] && !w->lost;
        if (s->turn && !until) return false;
        if (s->turn)
            pattern_say(s, "right %s index %ld of axis %d%s, wrong from the next on",
                        index > 1 ? "up to" : "at", index - 1, axis, of);
        else if (until && rights < ENOUGH)
            pattern_say(s, "right %s index %ld of axis %d%s, wrong at index %ld, the last",
                        index > 1 ? "up to" : "at", index - 1, axis, of, index);
        else
            pattern_say(s, "wrong only%s at index %ld%s of axis %d", which, index, last ? ", the last," : "",
                        axis);
        s->said.form = form_along(shape, axis, of);
        s->said.weak = s->turn && a.n == w->n; /* as by_index has it */
        if (until && !s->turn) s->said.form ^= pattern_form("the last"), s->more = true;
        return true;
    }
    return false;
}

/* Whether an index along the axis says what is wrong: at some all is, at others nothing, and there are enough of each. */
static bool by_index(Suspect *s, Shape shape, int axis, const Wrong *w, const char *of) {
    AlongAxis along = pattern_along(shape, axis), *a = &along;
    enum { NUMBERS = 40 };
    bool *wrong = arena_alloc(s->arena, (size_t)a->n), *right = arena_alloc(s->arena, (size_t)a->n);
    long wrongs = 0, rights = 0, last = -1, only = -1;
    char bad[NUMBERS], good[NUMBERS];
    for (long j = 0; j < w->n; j++) {
        if (w->idle[j]) continue;
        (w->wrong[j] ? wrong : right)[pattern_index_along(a, j)] = true;
    }
    for (long i = 0; i < a->n; i++) {
        if (wrong[i] && right[i]) return false;
        wrongs += wrong[i], rights += right[i];
        if (wrong[i] || right[i]) last = i;
        if (right[i]) only = i;
    }
    enum { LEAST = 5 };
    bool one_each = a->n == w->n;
    if (wrongs < 2 || rights < 1) return false;
    bool at_an_end = rights == 1 && (only == 0 || only == last), until = rights > 0;
    for (long i = 0; i + 1 < a->n; i++) until &= !(wrong[i] && right[i + 1]);
    pattern_numbers_text(wrong, a->n, bad, sizeof bad);
    pattern_numbers_text(right, a->n, good, sizeof good);
    if (until && only < last && !w->lost)
        pattern_say(s, "right %s index %ld of axis %d%s, wrong from the next on", only ? "up to" : "at", only,
                    a->axis, of);
    else if (at_an_end)
        pattern_say(s, "right only at index %ld%s of axis %d%s, wrong at all others", only,
                    only ? ", the last," : "", a->axis, of);
    else
        pattern_say(s, "%s at indices %s of axis %d%s, right at %s",
                    w->lost ? "no gradient arrives" : "wrong", bad, a->axis, of, good);
    s->said.form = form_along(shape, axis, of);
    s->said.weak = one_each && (!at_an_end || wrongs + rights < LEAST);
    return true;
}

/* Of one element, what its outputs say of it. */
static bool say_single(Suspect *s) {
    static const char single[] = "a single element is wrong";
    char where[REPORT_TEXT] = "";
    if (pattern_output_place(s) && !s->said.weak) snprintf(where, sizeof where, "; %.200s", s->said.reason);
    pattern_say(s, "%s%s", single, where);
    s->said.form = pattern_form(single), s->said.weak = s->more = false;
    return true;
}

bool pattern_place(Suspect *s) {
    long n = s->e->coordinates;
    bool *wrong = arena_alloc(s->arena, (size_t)n), *set = arena_alloc(s->arena, (size_t)n);
    bool *idle = arena_alloc(s->arena, (size_t)n), lost = true;
    for (long j = 0; j < n; j++) {
        wrong[j] = s->e->state[j] == ENTRY_WRONG;
        bool found = false, need = false;
        for (long q = 0; q < s->e->cotangents; q++)
            found |= s->analytic[q * n + j] != 0, need |= s->numeric[q * n + j] != 0;
        set[j] = !need;
        idle[j] = !need && !found;
        lost &= !wrong[j] || !found;
    }
    Wrong w = wrong_set(wrong, idle, n);
    w.lost = lost;
    if (w.count == n) return false;

    char where[2 * REPORT_NAME];
    bool known = condition(s, &w, where, sizeof where), hidden = true;
    for (long j = 0; j < n; j++) hidden &= !wrong[j] || set[j];
    if (hidden) {
        static const char all[] =
            "wrong only where the output does not depend on the input (masked, ignored, clipped)";
        pattern_say(s, "%s%s%s: there the gradient must be 0", all, known ? ", here where " : "",
                    known ? where : "");
        s->said.form = pattern_form(all); /* in another case it may be elsewhere */
        return true;
    }
    if (known && lost) return pattern_say(s, "no gradient arrives where %s: it is 0 there", where);
    if (known) return pattern_say(s, "wrong only where %s", where);
    if (w.count > 1 && only_at(s, s->shape, &w, "", "")) return true;
    if (s->turn) return false;
    for (int axis = 0; axis < s->shape.rank; axis++)
        if (by_index(s, s->shape, axis, &w, "")) return true;
    return w.count == 1 && say_single(s);
}

static const char of_output[] = " of the output";

/* The same for outputs: the upstream gradient of some is wrongly passed on. */
bool pattern_output_place(Suspect *s) {
    const Entries *e = s->e;
    if (!pattern_has_jacobian(s)) return false;
    bool hidden = true; /* the wrong outputs are those that do not depend on the input */
    bool *wrong = arena_alloc(s->arena, (size_t)e->outputs),
         *idle = arena_alloc(s->arena, (size_t)e->outputs);
    for (long i = 0; i < e->outputs; i++) {
        bool depends = false, moves = false;
        for (long j = 0; j < e->coordinates; j++) {
            long at = (1 + i) * e->coordinates + j;
            wrong[i] |=
                e->entry[at].state != ENTRY_KINK && !pattern_near(s, at, s->analytic[at], s->numeric[at]);
            depends |= s->numeric[at] != 0;
            moves |= e->state[j] == ENTRY_WRONG && s->numeric[at] != 0;
        }
        hidden &= !wrong[i] || !depends;
        idle[i] = !wrong[i] && !moves; /* what is wrong elsewhere has no effect here */
    }
    Wrong w = wrong_set(wrong, idle, e->outputs);
    if (w.count == 0 || w.count == e->outputs) return false;
    if (hidden)
        return pattern_say(
            s, "wrong only for outputs that do not depend on the input (masked, clipped): their upstream "
               "gradient must not pass");
    if (only_at(s, s->y_shape, &w, " for outputs", of_output)) return true;
    if (s->turn) return false;
    for (int axis = 0; axis < s->y_shape.rank; axis++)
        if (by_index(s, s->y_shape, axis, &w, of_output)) return true;
    return false;
}
