/* Where a gradient is wrong, if not how. */
#include "gradcheck/patterns.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

static bool same_set(const bool *a, const bool *b, long n) {
    return memcmp(a, b, (size_t)n * sizeof *a) == 0;
}

/* How many numbers input `which` has, or for which = inputs the output. */
static long own_values(const Suspect *s, int which) {
    const CheckPoint *p = s->run->point;
    return which < p->inputs ? p->in[which].count : s->e->outputs;
}

/* "x is < 0": what the elements of the set, and they alone, have in common; false if nothing. */
static bool condition(Suspect *s, const bool *wrong, char *text, size_t size) {
    /* Of few elements some condition is true by chance: of the element's own sign or of a mask, which often is, it takes
     * fewer than of another. */
    enum { EVIDENCE = 5, MORE_EVIDENCE = 12 };
    if (s->e->coordinates < EVIDENCE) return false;
    static const char *const form_text[] = {"< 0", "> 0", "= 0", "infinite", "> 1", "< -1"};
    long n = s->e->coordinates;
    bool *set = arena_alloc(s->arena, (size_t)n);
    double *v = arena_alloc(s->arena, (size_t)n * sizeof *v);
    for (int which = 0; which <= s->run->point->inputs; which++) {
        const char *name;
        if (!pattern_values_beside(s, which, v, &name)) continue;
        for (int form = 0; form < 6; form++) {
            for (long j = 0; j < n; j++)
                set[j] = (bool[]){v[j]<0, v[j]> 0, v[j] == 0, isinf(v[j]), v[j] > 1, v[j] < -1}[form];
            bool likely = (which == s->e->input && form < 2) || form == 2 || form == 3;
            if (!same_set(set, wrong, n) || (!likely && own_values(s, which) < MORE_EVIDENCE)) continue;
            snprintf(text, size, "%s is %s", name, form_text[form]);
            return true;
        }
    }
    return false;
}

/* True if the elements of the set have one index along the axis. */
static bool at_one_index(const AlongAxis *a, const bool *set, long n, long *index) {
    *index = -1;
    if (a->n < 2) return false;
    for (long i = 0; i < n; i++) {
        if (!set[i]) continue;
        if (*index < 0) *index = pattern_index_along(a, i);
        if (pattern_index_along(a, i) != *index) return false;
    }
    return *index >= 0;
}

bool pattern_place(Suspect *s) {
    long n = s->e->coordinates, wrong_count = 0;
    bool *wrong = arena_alloc(s->arena, (size_t)n), *set = arena_alloc(s->arena, (size_t)n);
    for (long j = 0; j < n; j++) wrong_count += wrong[j] = s->e->state[j] == ENTRY_WRONG;
    if (wrong_count == n) return false;

    char where[REPORT_NAME + 16];
    bool known = condition(s, wrong, where, sizeof where);
    for (long j = 0; j < n; j++) {
        set[j] = true;
        for (long q = 0; q < s->e->cotangents; q++) set[j] &= s->numeric[q * n + j] == 0;
        set[j] &= wrong[j];
    }
    if (same_set(set, wrong, n))
        return pattern_say(
            s,
            "wrong only where the output does not depend on the input (masked, ignored, clipped)%s%s: "
            "there the gradient must be 0",
            known ? ", here where " : "", known ? where : "");
    if (known) return pattern_say(s, "wrong only where %s", where);
    for (int axis = 0; axis < s->shape.rank; axis++) {
        AlongAxis a = pattern_along(s->shape, axis);
        long index;
        if (wrong_count > 1 && at_one_index(&a, wrong, n, &index))
            return pattern_say(s, "wrong only at index %ld%s of axis %d", index,
                               index == a.n - 1 ? ", the last," : "", axis);
    }
    return wrong_count == 1 && pattern_say(s, "a single element is wrong");
}

/* The same for outputs: the upstream gradient of some is wrongly passed on. */
bool pattern_output_place(Suspect *s) {
    const Entries *e = s->e;
    if (!e->whole || e->cotangents <= e->outputs) return false;
    long wrong_count = 0;
    bool hidden = true; /* the wrong outputs are those that do not depend on the input */
    bool *wrong = arena_alloc(s->arena, (size_t)e->outputs);
    for (long i = 0; i < e->outputs; i++) {
        bool depends = false;
        for (long j = 0; j < e->coordinates; j++) {
            long at = (1 + i) * e->coordinates + j;
            wrong[i] |=
                e->entry[at].state != ENTRY_KINK && !pattern_near(s, at, s->analytic[at], s->numeric[at]);
            depends |= s->numeric[at] != 0;
        }
        hidden &= !wrong[i] || !depends;
        wrong_count += wrong[i];
    }
    if (wrong_count == 0 || wrong_count == e->outputs) return false;
    if (hidden)
        return pattern_say(
            s, "wrong only for outputs that do not depend on the input (masked, clipped): their upstream "
               "gradient must not pass");
    for (int axis = 0; axis < s->y_shape.rank; axis++) {
        AlongAxis a = pattern_along(s->y_shape, axis);
        long index;
        if (at_one_index(&a, wrong, e->outputs, &index))
            return pattern_say(s, "wrong only for outputs at index %ld%s of axis %d", index,
                               index == a.n - 1 ? ", the last," : "", axis);
    }
    return false;
}
