/* Where errors spread from: of the outputs along an axis the first that are wrong, where what goes from step to step has not
 * yet made everything wrong. */
#include "check/gradcheck/patterns.h"
#include <stdio.h>

static bool is_wrong(const Suspect *s, long i, long j) {
    long at = (1 + i) * s->e->coordinates + j;
    return s->e->entry[at].state != ENTRY_KINK && !pattern_near(s, at, s->analytic[at], s->numeric[at]);
}

static bool has_effect(const Suspect *s, long i, long j) {
    long at = (1 + i) * s->e->coordinates + j;
    return !pattern_near(s, at, s->numeric[at], 0);
}

/* The first index along an axis of the output with a wrong effect; there is one. */
static long first_along(const Suspect *s, const AlongAxis *y) {
    long first = y->n - 1;
    for (long i = 0; i < s->e->outputs; i++)
        for (long j = 0; j < s->e->coordinates; j++)
            if (pattern_index_along(y, i) < first && is_wrong(s, i, j)) first = pattern_index_along(y, i);
    return first;
}

/* Whether of the effects on the outputs at `index` some elements', by their index along an axis, are right, and others' not. */
static bool is_by_element(Suspect *s, const AlongAxis *y, long index, const AlongAxis *x) {
    enum { LEAST = 3, NUMBERS = 40 };
    bool *wrong = arena_alloc(s->arena, (size_t)x->n + 1), *right = arena_alloc(s->arena, (size_t)x->n + 1);
    long wrongs = 0, rights = 0;
    char bad[NUMBERS], good[NUMBERS], first[REPORT_NAME] = "";
    for (long i = 0; i < s->e->outputs; i++)
        for (long j = 0; j < s->e->coordinates && pattern_index_along(y, i) == index; j++) {
            long at = pattern_index_along(x, j);
            bool off = is_wrong(s, i, j);
            wrong[at] |= off, right[at] |= !off && has_effect(s, i, j);
        }
    for (long i = 0; i < x->n; i++) right[i] &= !wrong[i], wrongs += wrong[i], rights += right[i];
    if (!wrongs || !rights || wrongs + rights < LEAST) return false;
    pattern_numbers_text(wrong, x->n, bad, sizeof bad);
    pattern_numbers_text(right, x->n, good, sizeof good);
    if (index > 0) snprintf(first, sizeof first, ", the first that are wrong,");
    pattern_say(
        s,
        "of the effects on outputs at index %ld of axis %d%s those of %s at %s %s of axis %d are not all "
        "right, those at %s are",
        index, y->axis, first, s->in->name, wrongs > 1 ? "indices" : "index", bad, x->axis, good);
    char form[REPORT_NAME];
    snprintf(form, sizeof form, "first along axis %d by axis %d", y->axis, x->axis);
    s->said.form = pattern_form(form);
    return true;
}

/* As when a loop over the elements leaves out some in each step: what is wrong at the first one says which. */
bool pattern_first_wrong(Suspect *s) {
    if (!pattern_has_jacobian(s)) return false;
    for (int out = 0; out < s->y_shape.rank; out++)
        for (int axis = 0; axis < s->shape.rank; axis++) {
            AlongAxis y = pattern_along(s->y_shape, out), x = pattern_along(s->shape, axis);
            if (y.n > 1 && x.n > 1 && is_by_element(s, &y, first_along(s, &y), &x)) return true;
        }
    return false;
}
