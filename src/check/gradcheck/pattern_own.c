/* What is wrong with an element's own part, as other values of the other elements or inputs show. */
#include "check/gradcheck/other_point.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

/* Between each value and the one as far from the other end: values that the input may hold. `every`: of elements j with
 * j % 2 != every only; 2: of all. */
static bool mix(const Suspect *s, CheckPoint *p, int k, int every) {
    const PointInput *in = &s->run->point->in[k];
    real *value = arena_alloc(s->arena, (size_t)in->count * sizeof *value);
    for (long i = 0; i < in->count; i++) {
        real other = in->count > 1 ? in->value[(i + in->count / 2) % in->count] : 0;
        value[i] = i % 2 == every ? in->value[i] : (3 * in->value[i] + other) / 4;
    }
    return point_change(s, p, k, value, 0);
}

/* Whether each gradient found, in terms of the right one, is there what it is here, of the elements j with j % 2 == of (2: of
 * all). moved: how many of them have another right one there. */
static bool same_factors(const Suspect *s, const Entries *there, int of, long *moved) {
    const double room = 1e-5;
    for (long j = 0; j < s->e->coordinates; j++) {
        const Entry *here = &s->e->entry[j], *other = &there->entry[j];
        if (s->e->state[j] != ENTRY_WRONG || (of < 2 && j % 2 != of) || s->numeric[j] == 0) continue;
        double k = here->analytic / here->numeric;
        if (!(fabs(other->analytic - k * other->numeric) <= room * fabs(k * other->numeric))) return false;
        *moved += fabs(other->numeric - here->numeric) > 0.001 * fabs(here->numeric);
    }
    return true;
}

/* As when a link of the chain rule between an input and what is made of it is wrong, and what comes after it is right. */
static bool own_factor(Suspect *s, long wrong) {
    CheckPoint changed = *s->run->point, there, *given = s->run->point;
    bool any = false;
    long moved = 0;
    for (int k = 0; k < changed.inputs; k++)
        if (k != s->e->input && !changed.in[k].constant) {
            CheckPoint one = changed;
            if (mix(s, &one, k, 2)) changed = one, any = true;
        }
    if (!any) return false;
    size_t used = point_go(s, &changed, &there);
    const Entries found = point_entries(s);
    point_back(s, given, used);
    return same_factors(s, &found, 2, &moved) && 2 * moved > wrong;
}

/* Each element's gradient does not change with the other elements: a sum of terms of one element each. */
static bool by_itself(Suspect *s) {
    CheckPoint there, *given = s->run->point;
    for (int half = 0; half < 2; half++) {
        CheckPoint changed = *given;
        long moved = 0;
        if (!mix(s, &changed, s->e->input, half)) return false;
        size_t used = point_go(s, &changed, &there);
        const Entries found = point_entries(s);
        point_back(s, given, used);
        if (!same_factors(s, &found, half, &moved) || moved) return false;
    }
    return true;
}

/* Of one output alone, as a loss is: there an element has a single number, and nothing to compare it with. */
bool pattern_own_slope(Suspect *s) {
    enum { LEAST = 3 };
    char at[INDEX_TEXT];
    long wrong = 0, worst = -1;
    if (s->e->outputs != 1 || !point_may_change(s)) return false;
    for (long j = 0; j < s->e->coordinates; j++) {
        if (s->e->state[j] != ENTRY_WRONG) continue;
        wrong++;
        double off = fabs(s->analytic[j] - s->numeric[j]);
        if (s->numeric[j] != 0 && (worst < 0 || off > fabs(s->analytic[worst] - s->numeric[worst])))
            worst = j;
    }
    if (wrong < LEAST || worst < 0) return false;
    bool factor = own_factor(s, wrong);
    if (!factor && !by_itself(s)) return false;
    const char *x = s->in->name, *place = gradcheck_index_text(at, s->shape, worst);
    double value = (double)s->in->value[worst], found = s->analytic[worst], need = s->numeric[worst];
    if (factor)
        return pattern_say(
            s,
            "each gradient is the right one times a factor of %s's element alone, whatever the "
            "other inputs are: a derivative of what is made of it is wrong or missing; for "
            "%s%s = %.6g it is %.6g times the right one",
            x, x, place, value, found / need);
    return pattern_say(
        s,
        "each element's own term has a wrong derivative, whatever the other elements are: for %s%s "
        "= %.6g it is %.6g, and should be %.6g",
        x, place, value, found, need);
}

/* ---- What the error depends on ---- */

/* How error and right gradient change from here to another point; of all entries. */
typedef struct Change {
    bool right, error, ratio;
} Change;

static Change change_to(const Suspect *s, const Entries *there) {
    const double room = 1e-5, much = 1e-2;
    Change c = {false, false, false};
    for (long at = 0; at < s->e->cotangents * s->e->coordinates; at++) {
        const Entry *other = &there->entry[at];
        double scale = s->scale[at / s->e->coordinates], error = s->analytic[at] - s->numeric[at];
        double moved = other->numeric - s->numeric[at], off = other->analytic - other->numeric;
        c.right |= fabs(moved) > much * scale;
        c.error |= !(fabs(off - error) <= room * fmax(scale, fabs(error)));
        c.ratio |= !(fabs(other->analytic * s->numeric[at] - s->analytic[at] * other->numeric) <=
                     room * fmax(fabs(other->numeric), fabs(s->numeric[at])) *
                         fmax(fabs(other->analytic), fabs(s->analytic[at])));
    }
    return c;
}

/* "b and c": one more name for a list. */
static void add_name(char *text, size_t size, const char *name) {
    size_t used = strlen(text);
    snprintf(text + used, size - used, "%s%.20s", used ? " and " : "", name);
}

/* An input that the right gradient depends on, and the error, or the factor, does not, is no part of what is wrong. */
bool pattern_depends(Suspect *s) {
    char without[REPORT_NAME * 2] = "", factor[REPORT_NAME * 2] = "";
    CheckPoint *given = s->run->point;
    for (int k = 0; k < given->inputs; k++) {
        CheckPoint changed = *given, there;
        if (k == s->e->input || !point_may_change(s) || !mix(s, &changed, k, 2)) continue;
        size_t used = point_go(s, &changed, &there);
        const Entries found = point_entries(s);
        point_back(s, given, used);
        Change c = change_to(s, &found);
        if (c.right && !c.error) add_name(without, sizeof without, given->in[k].name);
        if (c.right && !c.ratio) add_name(factor, sizeof factor, given->in[k].name);
    }
    const char *x = s->in->name;
    if (*factor)
        return pattern_say(s,
                           "what is found over what is right does not change with %s, which the right "
                           "gradient does: a factor "
                           "without %s is wrong, missing or one too many in that of %s",
                           factor, factor, x);
    return *without &&
           pattern_say(
               s,
               "the error does not change with %s, which the right gradient does: a term without %s is "
               "wrong, missing or one too many in that of %s",
               without, without, x);
}

/* Whether what is found here is the Jacobian there, each column times a factor of its own, which goes to `factor`. */
static bool columns_are(const Suspect *s, const Entries *there, double *factor) {
    const double small = 1e-3;
    const Entries *e = s->e;
    long confirmed = 0;
    for (long j = 0; j < e->coordinates; j++) {
        double largest = 0;
        for (long q = 1; q < e->cotangents; q++) {
            double v = there->entry[q * e->coordinates + j].numeric;
            if (!(fabs(v) > largest)) continue;
            largest = fabs(v), factor[j] = s->analytic[q * e->coordinates + j] / v;
        }
        long used = 0;
        for (long q = 1; q < e->cotangents; q++) {
            long at = q * e->coordinates + j;
            double v = there->entry[at].numeric;
            if (!pattern_near(s, at, s->analytic[at], largest > 0 ? factor[j] * v : 0)) return false;
            used += fabs(v) > small * largest;
        }
        confirmed += used > 1;
    }
    return 2 * confirmed >= e->coordinates;
}

/* As when j stands for i in a sum over i: what the operand has at i does not count, what it has at j is a factor. */
bool pattern_own_index(Suspect *s) {
    const CheckPoint *p = s->run->point;
    double *factor = arena_alloc(s->arena, (size_t)s->e->coordinates * sizeof *factor);
    if (!s->e->whole || s->e->outputs < 2 || !point_may_change(s)) return false;
    for (int k = 0; k < p->inputs; k++) {
        CheckPoint changed = *p, there, *given = s->run->point;
        if (k == s->e->input || p->in[k].count < 2 ||
            !point_change(s, &changed, k, NULL, (double)p->in[k].value[0]))
            continue;
        size_t used = point_go(s, &changed, &there);
        const Entries found = point_entries(s);
        point_back(s, given, used);
        if (!columns_are(s, &found, factor)) continue;
        bool one = true; /* factor for all: what it is times, the number, is as good as any */
        for (long j = 1; j < s->e->coordinates; j++)
            one &= fabs(factor[j] - factor[0]) <= s->tolerance * fabs(factor[0]);
        const char *name = p->in[k].name;
        return pattern_say(
            s,
            one ? "it is as if all of %s were one number: is %s left out?"
                : "it is as if all of %s were one number, times a factor of each element: does %s, or "
                  "what stands in its place, have the index of the sum?",
            name, name);
    }
    return false;
}
