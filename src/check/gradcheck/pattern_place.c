/* The place of an error: at which indices, or at which values. */
#include "check/gradcheck/check_batch.h"
#include "check/gradcheck/patterns.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- Values ---- */

/* Points that a condition has to hold at: the case's own, and others drawn for the purpose. */
enum { LOOKS = 3, FIRST_DRAWN = 300, EVIDENCE = 4 };

/* Each element at a point: its values (inputs and output; NULL for those of another shape), and whether it is
 * wrong. */
typedef struct Look {
    double *value[CHECK_INPUTS + 1];
    bool *wrong, *idle;
} Look;

static Look look_here(const Suspect *s, const EntryState *state, const Entry *entry) {
    Look l = {{0}, NULL, NULL};
    long n = s->e->coordinates;
    l.wrong = arena_alloc(s->arena, (size_t)n), l.idle = arena_alloc(s->arena, (size_t)n);
    memset(l.idle, true, (size_t)n);
    for (long at = 0; at < s->e->cotangents * n; at++)
        l.idle[at % n] &= entry[at].analytic == 0 && fabs(entry[at].numeric) <= 16 * entry[at].estimate;
    for (long j = 0; j < n; j++) l.wrong[j] = state[j] == ENTRY_WRONG, l.idle[j] &= !l.wrong[j];
    for (int which = 0; which <= s->run->point->inputs; which++) {
        double *v = arena_alloc(s->arena, (size_t)n * sizeof *v);
        const char *name;
        if (pattern_values_over(s, s->shape, which, v, &name)) l.value[which] = v;
    }
    return l;
}

/* Entries of the same input where the runs are. */
static Entries entries_here(const Suspect *s) {
    Entries e = *s->e;
    size_t entries = (size_t)(e.cotangents * e.coordinates);
    e.entry = arena_alloc(s->arena, entries * sizeof *e.entry);
    e.state = arena_alloc(s->arena, (size_t)e.coordinates * sizeof *e.state);
    e.doubt = arena_alloc(s->arena, (size_t)e.coordinates * sizeof *e.doubt);
    CheckBatch b;
    check_batch_open_backward(&b, s->run, s->arena, e.outputs, e.cotangents);
    for (long q = 0, runs; q < e.cotangents; q += runs) {
        runs = check_batch_backward(&b, e.cotangent + q * e.outputs, e.cotangents - q, 0);
        for (long i = 0; i < runs; i++)
            for (long j = 0; j < e.coordinates; j++)
                e.entry[(q + i) * e.coordinates + j].analytic =
                    (double)check_batch_gradient(&b, i, e.input)[j];
    }
    for (long i = 0; i < e.outputs; i++) s->y[i] = check_batch_output(&b, 0)[i];
    check_entries(s->differences, &e);
    return e;
}

/* The same case at another point. */
static Look look_elsewhere(Suspect *s, int attempt) {
    CheckRun *run = s->run, *other = s->differences;
    CheckPoint *given = run->point, *given_other = other->point, there, other_there;
    real *y = s->y;
    s->y = arena_alloc(s->arena, (size_t)s->e->outputs * sizeof *y);
    if (other != run)
        point_draw(&other_there, s->arena, given_other->memory, run->op, run->c, s->seed, POINT_DRAWN,
                   attempt);
    other->point = &other_there;
    point_draw(&there, s->arena, given->memory, run->op, run->c, s->seed, POINT_DRAWN, attempt);
    run->point = &there;
    Entries e = entries_here(s);
    Look l = look_here(s, e.state, e.entry);
    other->point = given_other;
    run->point = given, s->y = y;
    return l;
}

/* Whether the wrong elements, and they alone, are where side · v is above a number, at all looks; v is value `which`, or
 * its size. The number lies between *right and *wrong. */
static bool is_beyond(const Suspect *s, const Look look[LOOKS], int which, bool size, int side, double *right,
                      double *wrong) {
    long wrongs = 0, rights = 0;
    *wrong = INFINITY, *right = -INFINITY;
    for (int k = 0; k < LOOKS; k++)
        for (long j = 0; j < s->e->coordinates; j++) {
            if (look[k].idle[j]) continue;
            double v = look[k].value[which][j];
            v = side * (size ? fabs(v) : v);
            if (look[k].wrong[j])
                *wrong = fmin(*wrong, v), wrongs++;
            else
                *right = fmax(*right, v), rights++;
        }
    return *wrong > *right && isfinite(*wrong) && wrongs >= EVIDENCE && rights >= EVIDENCE;
}

/* "x is above 0", "|x| is above about 1.5". */
static void say_condition(const Suspect *s, int which, bool size, double low, double high, const char *how,
                          char text[REPORT_TEXT / 2]) {
    const CheckPoint *p = s->run->point;
    const char *name = which < p->inputs ? p->in[which].name : "the output", *bar = size ? "|" : "",
               *about = "about ";
    double number = (low + high) / 2;
    for (int n = -2; n <= 2; n++)
        if (low <= n && n <= high) number = n, about = "";
    snprintf(text, REPORT_TEXT / 2, "%s%.40s%s is %s %s%.3g", bar, name, bar, how, about, number);
}

/* Finds a condition on values that separates wrong elements from right ones, at other points as well. */
static bool find_condition(Suspect *s, char text[REPORT_TEXT / 2]) {
    enum { MOST_ENTRIES = 1 << 12 };
    const CheckPoint *p = s->run->point;
    bool drawn = false, some = false, others = false;
    Look look[LOOKS];
    for (int k = 0; k < p->inputs; k++) drawn |= !s->run->c->in[k].values && p->in[k].same_as < 0;
    for (long j = 0; j < s->e->coordinates; j++)
        s->e->state[j] == ENTRY_WRONG ? (some = true) : (others = true);
    if (pattern_known(s) == JACOBIAN) return false; /* the gradient comes from a file */
    if (!drawn || !some || !others || s->in->stored < s->in->count ||
        s->e->coordinates * s->e->cotangents > MOST_ENTRIES)
        return false;
    look[0] = look_here(s, s->e->state, s->e->entry);
    for (int k = 1; k < LOOKS; k++) look[k] = look_elsewhere(s, FIRST_DRAWN + k);
    for (int which = 0; which <= p->inputs; which++)
        for (int way = 0; look[0].value[which] && way < 4; way++) {
            int side = way % 2 ? -1 : 1;
            double right, wrong;
            if (!is_beyond(s, look, which, way / 2, side, &right, &wrong)) continue;
            say_condition(s, which, way / 2, fmin(side * right, side * wrong),
                          fmax(side * right, side * wrong), side > 0 ? "above" : "below", text);
            return true;
        }
    return false;
}

/* ---- Patterns ---- */

/* Whether every wrong element is 0 for every upstream gradient. */
static bool all_lost(const Suspect *s) {
    for (long at = 0; at < s->e->cotangents * s->e->coordinates; at++)
        if (s->e->state[at % s->e->coordinates] == ENTRY_WRONG && s->analytic[at] != 0) return false;
    return true;
}

/* For example a loop that ends early or skips a remainder. */
bool pattern_missing_in_part(Suspect *s) {
    enum { HALF = REPORT_TEXT / 2 };
    char wrong[HALF], right[HALF];
    long n = s->e->coordinates, wrongs = 0;
    Look l = look_here(s, s->e->state, s->e->entry);
    for (long j = 0; j < n; j++) wrongs += l.wrong[j];
    WrongSet set = {s->in->name, s->shape, l.wrong, l.idle, n};
    return (wrongs > 1 || s->shape.rank > 1) && all_lost(s) &&
           wrong_map_rule(&set, s->arena, wrong, right, HALF) &&
           pattern_say(s, "no gradient arrives at %s. %s%s right", wrong, right,
                       strncmp(right, "all", 3) == 0 || strchr(right, ' ') ? " are" : " is");
}

bool pattern_place(Suspect *s) {
    char text[REPORT_TEXT];
    bool hidden = true; /* wrong elements have no effect */
    for (long at = 0; at < s->e->cotangents * s->e->coordinates; at++)
        hidden &= s->e->state[at % s->e->coordinates] != ENTRY_WRONG || s->numeric[at] == 0;
    if (hidden)
        return pattern_say(
            s,
            "wrong only where the output does not depend on %s (masked, clipped, unused). There the "
            "gradient must be 0",
            s->in->name);
    if (find_condition(s, text))
        return pattern_say(s, all_lost(s) ? "no gradient arrives where %s" : "wrong only where %s", text);
    return wrong_map(s, text, sizeof text) && pattern_say(s, "%s", text);
}
