/* The place of an error: at which indices, or at which values. */
#include "check/gradcheck/patterns.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- Values ---- */

/* A condition holds at LOOKS points: the case's own, and others drawn for the purpose. */
enum { LOOKS = 3, FIRST_DRAWN = 300, EVIDENCE = 4 };

/* The elements at a point: their values (inputs and output; NULL for those of another shape), and the wrong ones. */
typedef struct Look {
    double *value[CHECK_INPUTS + 1];
    WrongSet set;
} Look;

static Look look_here(const Suspect *s) {
    Look l = {.set = wrong_map_set(s, WRONG_ELEMENTS)};
    for (int which = 0; which <= s->point->inputs; which++) {
        double *v = arena_alloc(s->arena, (size_t)s->n * sizeof *v);
        const char *name;
        if (pattern_values_over(s, s->shape, which, v, &name)) l.value[which] = v;
    }
    return l;
}

/* Judges the same case at another point, and looks there. */
static Look look_at(const Suspect *s, const CheckPoint *there) {
    Gradients g = {
        .run = s->g->run, .differences = s->g->differences, .arena = s->arena, .seed = s->g->seed};
    g.run->point = g.differences->point = there;
    check_gradients(&g, arena_alloc(s->arena, sizeof(CaseReport)));
    check_run_forward(g.run);
    Suspect other = pattern_suspect(&g, s->e->input);
    Look l = look_here(&other);
    g.run->point = g.differences->point = s->point;
    return l;
}

/* Whether at the first looks the wrong elements are those where side · v is above a number; v is value `which`, or its size.
 * The number lies between *right and *wrong. All looks together must be evidence. */
static bool is_beyond(const Suspect *s, const Look *look, int looks, int which, bool size, int side,
                      double *right, double *wrong) {
    long wrongs = 0, rights = 0;
    *wrong = INFINITY, *right = -INFINITY;
    for (int k = 0; k < looks; k++)
        for (long j = 0; j < s->n; j++) {
            if (look[k].set.idle[j]) continue;
            double v = look[k].value[which][j];
            v = side * (size ? fabs(v) : v);
            if (look[k].set.wrong[j])
                *wrong = fmin(*wrong, v), wrongs++;
            else
                *right = fmax(*right, v), rights++;
        }
    bool evidence = isfinite(*wrong) && wrongs >= EVIDENCE && rights >= EVIDENCE;
    return *wrong > *right && (evidence || looks < LOOKS);
}

/* "x is above 0", "|x| is above about 1.5". */
static void say_condition(const Suspect *s, int which, bool size, double low, double high,
                          const char *how, char text[REPORT_TEXT / 2]) {
    const char *name = which < s->point->inputs ? s->point->in[which].name : "the output";
    const char *bar = size ? "|" : "", *about = "about ";
    double number = (low + high) / 2;
    for (int n = -2; n <= 2; n++)
        if (low <= n && n <= high) number = n, about = "";
    snprintf(text, REPORT_TEXT / 2, "%s%.40s%s is %s %s%.3g", bar, name, bar, how, about, number);
}

/* Whether a condition on values may be looked for: the case draws values, it is small, and some of its elements are right. */
static bool may_have_condition(const Suspect *s) {
    enum { MAX_ENTRIES = 1 << 12 };
    bool drawn = false;
    long wrongs = 0;
    for (int k = 0; k < s->point->inputs; k++)
        drawn |= !s->g->run->c->in[k].values && s->point->in[k].same_as < 0;
    for (long j = 0; j < s->n; j++) wrongs += s->e->state[j] == ENTRY_WRONG;
    return drawn && wrongs > 0 && wrongs < s->n && s->in->stored == s->in->count &&
           s->entries <= MAX_ENTRIES;
}

/* Finds a condition on values that separates wrong elements from right ones at the first looks. */
static bool separates(const Suspect *s, const Look *look, int looks, char text[REPORT_TEXT / 2]) {
    for (int which = 0; which <= s->point->inputs; which++)
        for (int way = 0; look[0].value[which] && way < 4; way++) {
            bool size = way / 2;
            int side = way % 2 ? -1 : 1;
            double right, wrong;
            if (!is_beyond(s, look, looks, which, size, side, &right, &wrong)) continue;
            double low = fmin(side * right, side * wrong), high = fmax(side * right, side * wrong);
            say_condition(s, which, size, low, high, side > 0 ? "above" : "below", text);
            return true;
        }
    return false;
}

/* Finds one that holds at other points as well, which cost many runs: none is drawn without a condition that it may refute. */
static bool find_condition(Suspect *s, char text[REPORT_TEXT / 2]) {
    const CheckRun *run = s->g->run;
    Look look[LOOKS];
    if (!may_have_condition(s)) return false;
    look[0] = look_here(s);
    for (int k = 1; k < LOOKS; k++) {
        CheckPoint there;
        if (!separates(s, look, k, text)) return false;
        point_draw(&there, s->arena, run->op, run->c, s->g->seed, POINT_DRAWN, FIRST_DRAWN + k);
        look[k] = look_at(s, &there);
    }
    return separates(s, look, LOOKS, text);
}

/* ---- Patterns ---- */

/* Whether every wrong element is 0 for every upstream gradient. */
static bool all_lost(const Suspect *s) {
    for (long at = 0; at < s->entries; at++)
        if (s->e->state[at % s->n] == ENTRY_WRONG && s->analytic[at] != 0) return false;
    return true;
}

/* Whether words name one element, row, column or index. */
static bool is_one(const char *words) {
    return !strchr(words, ' ') || strncmp(words, "row ", 4) == 0 ||
           strncmp(words, "column ", 7) == 0 || strncmp(words, "index ", 6) == 0;
}

/* An example is a loop that ends early or skips a remainder. */
bool pattern_missing_in_part(Suspect *s) {
    enum { HALF = REPORT_TEXT / 2 };
    char wrong[HALF], right[HALF];
    long wrongs = 0;
    WrongSet set = wrong_map_set(s, WRONG_ELEMENTS);
    for (long j = 0; j < set.count; j++) wrongs += set.wrong[j];
    return (wrongs > 1 || s->shape.rank > 1) && all_lost(s) &&
           wrong_map_rule(&set, s->arena, wrong, right, HALF) &&
           pattern_say(s, "no gradient arrives at %s. %s %s right", wrong, right,
                       is_one(right) ? "is" : "are");
}

bool pattern_place(Suspect *s) {
    char text[REPORT_TEXT];
    bool hidden = true; /* wrong elements have no effect */
    for (long at = 0; at < s->entries; at++)
        hidden &= s->e->state[at % s->n] != ENTRY_WRONG || s->numeric[at] == 0;
    if (hidden)
        return pattern_say(s,
                           "wrong only where the output does not depend on %s (masked, clipped, "
                           "unused). There the "
                           "gradient must be 0",
                           s->in->name);
    if (find_condition(s, text))
        return pattern_say(s, all_lost(s) ? "no gradient arrives where %s" : "wrong only where %s",
                           text);
    return wrong_map(s, text, sizeof text) && pattern_say(s, "%s", text);
}
