/* Where a gradient is wrong, if not how. */
#include "autograd/patterns.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

static bool same_set(const bool *a, const bool *b, long n) {
    return memcmp(a, b, (size_t)n * sizeof *a) == 0;
}

/* "x is < 0": what the elements of the set, and they alone, have in common; false if nothing. */
static bool condition(Suspect *s, const bool *wrong, char *text, size_t size) {
    static const char *const form_text[] = {"< 0", "> 0", "= 0", "infinite", "> 1", "< -1"};
    long n = s->e->coordinates;
    bool *set = arena_alloc(s->arena, (size_t)n);
    double *v = arena_alloc(s->arena, (size_t)n * sizeof *v);
    for (int which = 0; which <= s->run->point->inputs; which++) {
        const char *name;
        if (!values_beside(s, which, v, &name)) continue;
        for (int form = 0; form < 6; form++) {
            for (long j = 0; j < n; j++)
                set[j] = (bool[]){v[j]<0, v[j]> 0, v[j] == 0, isinf(v[j]), v[j] > 1, v[j] < -1}[form];
            if (!same_set(set, wrong, n)) continue;
            snprintf(text, size, "%s is %s", name, form_text[form]);
            return true;
        }
    }
    return false;
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
        return say(s,
                   "wrong only where the output does not depend on the input (masked, ignored, clipped)%s%s: "
                   "there the gradient must be 0",
                   known ? ", here where " : "", known ? where : "");
    if (known) return say(s, "wrong only where %s", where);
    for (int axis = 0; axis < s->shape.rank; axis++) {
        AlongAxis a = along(s->shape, axis);
        long first = -1;
        bool one = a.n > 1;
        for (long j = 0; j < n; j++) {
            if (!wrong[j]) continue;
            if (first < 0) first = index_along(&a, j);
            one &= index_along(&a, j) == first;
        }
        if (one && wrong_count > 1)
            return say(s, "wrong only at index %ld%s of axis %d", first,
                       first == a.n - 1 ? ", the last," : "", axis);
    }
    return wrong_count == 1 && say(s, "a single element is wrong");
}
