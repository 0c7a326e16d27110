/* Ties: elements that share a kink.
 *
 * At a tie of a maximum each element alone may have any gradient between its one-sided
 * derivatives, 0 and 1. If all tied elements move together, the output moves by as much, so
 * their gradients must add up to 1. In general, along a direction v that moves all elements of a
 * tie, Σ_j v_j dx_j must lie between the one-sided derivatives along v.
 *
 * An element is tied if the output's change for it and all other elements on kinks is not the sum
 * of its change for the others and of its change for the element. Independent kinks at one point
 * (two elements of relu at 0) are not a tie: each element may follow its own convention. */
#include "check/gradcheck/entries.h"
#include "check/gradcheck/rounding.h"
#include <math.h>
#include <stdio.h>

/* The step is so small that curvature does not matter; differences keep half of their digits. */
static const double step = sizeof(real) == sizeof(double) ? 0x1p-20 : 0x1p-8;

/* One-sided differences that differ by more than this part of their size show a kink. */
static const double apart = 1e-2;

typedef struct Element {
    int input;
    long coordinate;
    bool moves;        /* in the next runs; at last: is tied at the output at hand */
    double *up, *down; /* [outputs] one-sided differences */
    double *up_without, *down_without; /* of all others together */
} Element;

typedef struct Ties {
    CheckRun *run;
    Entries *all;
    Arena *arena;
    long outputs;
    const real *here;
    double blur; /* of a difference, by rounding */
    long count;
    Element *element; /* those on a kink of some output */
} Ties;

/* Requests two runs, with the elements that move moved together up and down. */
static void ask(const Ties *t, const Element *x, long count) {
    for (int side = 1; side >= -1; side -= 2) {
        check_run_ask(t->run);
        for (long a = 0; a < count; a++) {
            long at = check_entries_element(&t->all[x[a].input], x[a].coordinate);
            double value = (double)t->run->point->in[x[a].input].value[at];
            if (x[a].moves) check_run_change(t->run, x[a].input, at, value + side * step);
        }
    }
}

/* Sets the one-sided differences from runs `run` and `run` + 1. */
static void take_slopes(const Ties *t, long run, double **up, double **down) {
    const real *above = check_run_output(t->run, run), *below = check_run_output(t->run, run + 1);
    size_t size = (size_t)t->outputs * sizeof **up;
    *up = arena_alloc(t->arena, size);
    *down = arena_alloc(t->arena, size);
    for (long i = 0; i < t->outputs; i++) {
        (*up)[i] = ((double)above[i] - (double)t->here[i]) / step;
        (*down)[i] = ((double)below[i] - (double)t->here[i]) / -step;
    }
}

static bool is_on_kink(const Ties *t, const Element *x, long output) {
    double size = fabs(x->up[output]) + fabs(x->down[output]);
    return isfinite(size) && fabs(x->up[output] - x->down[output]) > fmax(apart * size, t->blur);
}

/* Keeps the elements of an input that are on a kink of some output. */
static void find_elements(Ties *t, int input) {
    long coordinates = t->all[input].coordinates;
    for (long j = 0; j < coordinates; j++) ask(t, &(Element){input, j, true}, 1);
    check_run_all(t->run, NULL);
    for (long j = 0; j < coordinates; j++) {
        Element x = {input, j, true};
        bool any = false;
        take_slopes(t, 2 * j, &x.up, &x.down);
        for (long i = 0; i < t->outputs; i++) any |= is_on_kink(t, &x, i);
        if (any) t->element[t->count++] = x;
    }
}

/* Moves all elements together, and all but each. */
static void move_together(Ties *t, double **up, double **down) {
    ask(t, t->element, t->count);
    for (Element *x = t->element; x < t->element + t->count; x++) {
        x->moves = false;
        ask(t, t->element, t->count);
        x->moves = true;
    }
    check_run_all(t->run, NULL);
    take_slopes(t, 0, up, down);
    for (long a = 0; a < t->count; a++) {
        Element *x = &t->element[a];
        take_slopes(t, 2 * (a + 1), &x->up_without, &x->down_without);
    }
}

/* Whether the gradients of the elements that are tied at an output add up to its change when they
 * move together. Else they are WRONG, and the text says so. */
static bool shares_fit(Ties *t, long output, const double *all_up, const double *all_down,
                       char *text, size_t room) {
    double *up, *down, sum = 0, scale = 0;
    int size = 0;
    for (Element *x = t->element; x < t->element + t->count; x++) {
        const Entries *e = &t->all[x->input];
        double part = apart * (fabs(x->up[output]) + fabs(x->down[output])) + t->blur;
        x->moves = is_on_kink(t, x, output) &&
                   (fabs(all_up[output] - x->up_without[output] - x->up[output]) > part ||
                    fabs(all_down[output] - x->down_without[output] - x->down[output]) > part);
        if (!x->moves) continue;
        size++;
        sum += e->entry[(1 + output) * e->coordinates + x->coordinate].analytic;
        scale += fabs(x->up[output]) + fabs(x->down[output]);
    }
    if (size < 2 || !isfinite(sum)) return true;
    ask(t, t->element, t->count);
    check_run_all(t->run, NULL);
    take_slopes(t, 0, &up, &down);
    double low = fmin(up[output], down[output]), high = fmax(up[output], down[output]);
    double allowed = apart * scale + size * t->blur;
    if (sum >= low - allowed && sum <= high + allowed) return true;
    for (const Element *x = t->element; x < t->element + t->count; x++)
        if (x->moves) t->all[x->input].state[x->coordinate] = ENTRY_WRONG;
    double moved = sum < low ? low : high;
    int digits = report_digits(sum, moved, 4);
    snprintf(text, room,
             "%d elements are tied at output element %ld: their gradients add up to %.*g, and all "
             "moved together they move it by %.*g: the shares of a tie are wrong",
             size, output, digits, sum, digits, moved);
    return false;
}

bool check_ties(CheckRun *run, Entries *all, Arena *arena, int *input, char *text, size_t size) {
    Ties t = {.run = run, .all = all, .arena = arena};
    double *up, *down;
    long coordinates = 0;
    t.here = check_run_forward(run)->data;
    t.outputs = run->outputs;
    t.blur = 1e3 * (double)REAL_EPSILON * fmax(1, rounding_largest(t.here, t.outputs)) / step;
    for (int k = 0; k < run->point->inputs; k++) coordinates += all[k].coordinates;
    t.element = arena_alloc(arena, (size_t)coordinates * sizeof *t.element);
    for (int k = 0; k < run->point->inputs; k++) find_elements(&t, k);
    move_together(&t, &up, &down);
    for (long i = 0; i < t.outputs; i++) {
        if (shares_fit(&t, i, up, down, text, size)) continue;
        const Element *x = t.element;
        while (!x->moves) x++;
        *input = x->input;
        return true;
    }
    return false;
}
