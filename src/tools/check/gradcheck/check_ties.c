/* Ties: elements that share a kink.
 *
 * At a tie of a maximum each element alone may have any gradient between its one-sided
 * derivatives, 0 and 1. If all tied elements move together, the output moves by as much, so
 * their gradients must add up to 1. In general, along a direction v that moves all elements of a
 * tie, Σ_j v_j dx_j must lie between the one-sided derivatives along v.
 *
 * Elements are tied if the output's change for both together is not the sum of its changes for
 * each. Independent kinks at one point (two elements of relu at 0) are not a tie: each element
 * may follow its own convention. */
#include "check/gradcheck/entries.h"
#include "check/gradcheck/rounding.h"
#include <math.h>
#include <stdio.h>

/* The step is so small that curvature does not matter; differences keep half of their digits. */
static const double step = sizeof(real) == sizeof(double) ? 0x1p-20 : 0x1p-8;

/* One-sided differences that differ by more than this part of their size show a kink. */
static const double apart = 1e-2;

enum { MAX = 48 }; /* elements on kinks that are checked */

typedef struct Ties {
    CheckRun *run;
    Entries *all;
    Arena *arena;
    long outputs;
    const real *here;
    double blur; /* of a difference, by rounding */
    int count;   /* elements on a kink of some output */
    struct Element {
        int input;
        long coordinate;
        double *up, *down; /* [outputs] one-sided differences */
        /* [outputs]: the same for elements that are tied there, directly or through others. */
        int *group;
    } element[MAX];
} Ties;

/* Requests two runs, with these elements moved together up and down. */
static void ask(Ties *t, const struct Element *const x[], int count) {
    for (int side = 1; side >= -1; side -= 2) {
        check_run_ask(t->run);
        for (int a = 0; a < count; a++) {
            const Entries *e = &t->all[x[a]->input];
            long at = check_entries_element(e, x[a]->coordinate);
            double value = (double)t->run->point->in[e->input].value[at];
            check_run_change(t->run, e->input, at, value + side * step);
        }
    }
}

/* The one-sided differences from runs `run` and `run` + 1. */
static void slopes(const Ties *t, long run, double *up, double *down) {
    const real *above = check_run_output(t->run, run), *below = check_run_output(t->run, run + 1);
    for (long i = 0; i < t->outputs; i++) {
        up[i] = ((double)above[i] - (double)t->here[i]) / step;
        down[i] = ((double)below[i] - (double)t->here[i]) / -step;
    }
}

static bool on_kink(const Ties *t, const struct Element *x, long output) {
    double size = fabs(x->up[output]) + fabs(x->down[output]);
    return isfinite(size) && fabs(x->up[output] - x->down[output]) > fmax(apart * size, t->blur);
}

static void *one_each(const Ties *t, size_t size) {
    return arena_alloc(t->arena, (size_t)t->outputs * size);
}

/* Keeps the elements that are on a kink of some output, each in a group of its own. */
static void find_elements(Ties *t) {
    for (int k = 0; k < t->run->point->inputs; k++) {
        for (long j = 0; j < t->all[k].coordinates; j++)
            ask(t, (const struct Element *[]){&(struct Element){k, j}}, 1);
        check_run_all(t->run, NULL);
        for (long j = 0; j < t->all[k].coordinates; j++) {
            if (t->count == MAX) break;
            struct Element *x = &t->element[t->count];
            bool any = false;
            *x = (struct Element){k, j, one_each(t, sizeof *x->up), one_each(t, sizeof *x->down),
                                  one_each(t, sizeof *x->group)};
            slopes(t, 2 * j, x->up, x->down);
            for (long i = 0; i < t->outputs; i++) {
                any |= on_kink(t, x, i);
                x->group[i] = t->count;
            }
            t->count += any;
        }
    }
}

/* Joins the groups of two elements where their common change of an output is not the sum of the
 * two single changes. */
static void join_pairs(Ties *t) {
    double *up = one_each(t, sizeof *up), *down = one_each(t, sizeof *down);
    for (int a = 0; a < t->count; a++) {
        const struct Element *x = &t->element[a], *z = x + 1;
        for (; z < t->element + t->count; z++) ask(t, (const struct Element *[]){x, z}, 2);
        check_run_all(t->run, NULL);
        for (z = x + 1; z < t->element + t->count; z++) {
            slopes(t, 2 * (z - x - 1), up, down);
            for (long i = 0; i < t->outputs; i++) {
                double size = fabs(x->up[i]) + fabs(z->up[i]) + fabs(x->down[i]) + fabs(z->down[i]);
                bool odd = fabs(up[i] - x->up[i] - z->up[i]) > apart * size ||
                           fabs(down[i] - x->down[i] - z->down[i]) > apart * size;
                int from = z->group[i], to = x->group[i];
                bool joined = odd && on_kink(t, x, i) && on_kink(t, z, i);
                for (int b = 0; b < (joined ? t->count : 0); b++)
                    if (t->element[b].group[i] == from) t->element[b].group[i] = to;
            }
        }
    }
}

/* Whether the gradients of a group add up to the output's change when its elements move
 * together; one element does. Else its elements are WRONG, and the text says so. */
static bool shares_fit(Ties *t, int group, long output, char *text, size_t room) {
    double *up = one_each(t, sizeof *up), *down = one_each(t, sizeof *down), sum = 0, scale = 0;
    const struct Element *member[MAX];
    int size = 0;
    for (const struct Element *x = t->element; x < t->element + t->count; x++) {
        const Entries *e = &t->all[x->input];
        if (x->group[output] != group) continue;
        member[size++] = x;
        sum += e->entry[(1 + output) * e->coordinates + x->coordinate].analytic;
        scale += fabs(x->up[output]) + fabs(x->down[output]);
    }
    if (size < 2 || !isfinite(sum)) return true;
    ask(t, member, size);
    check_run_all(t->run, NULL);
    slopes(t, 0, up, down);
    double low = fmin(up[output], down[output]), high = fmax(up[output], down[output]);
    double allowed = apart * scale + size * t->blur;
    if (sum >= low - allowed && sum <= high + allowed) return true;
    for (int a = 0; a < size; a++)
        t->all[member[a]->input].state[member[a]->coordinate] = ENTRY_WRONG;
    double moved = sum < low ? low : high;
    int digits = report_digits(sum, moved, 4);
    snprintf(text, room,
             "%d elements are tied at output element %ld: their gradients add up to %.*g, and all "
             "moved together "
             "they move it by %.*g: the shares of a tie are wrong",
             size, output, digits, sum, digits, moved);
    return false;
}

bool check_ties(CheckRun *run, Entries *all, Arena *arena, int *input, char *text, size_t size) {
    Ties t = {.run = run, .all = all, .arena = arena};
    t.here = check_run_forward(run)->data;
    t.outputs = run->outputs;
    t.blur = 1e3 * (double)REAL_EPSILON * fmax(1, rounding_largest(t.here, t.outputs)) / step;
    find_elements(&t);
    join_pairs(&t);
    for (long i = 0; i < t.outputs; i++)
        for (int group = 0; group < t.count; group++)
            if (!shares_fit(&t, group, i, text, size)) {
                *input = t.element[group].input;
                return true;
            }
    return false;
}
