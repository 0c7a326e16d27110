/* Ties: elements that share a kink.
 *
 * At a tie of a maximum each element alone may have any gradient between its one-sided derivatives, 0 and 1.
 * If all tied elements move together, the output moves by as much, so their gradients must add up to 1. In
 * general, along a direction v that moves all elements of a tie, Σ_j v_j dx_j must lie between the one-sided
 * derivatives along v.
 *
 * Elements are tied if the output's change for both together is not the sum of its changes for each.
 * Independent kinks at one point (two elements of relu at 0) are not a tie: each element may follow its own
 * convention. */
#include "check/gradcheck/check_batch.h"
#include "check/gradcheck/check_entries.h"
#include <math.h>
#include <stdio.h>

/* Small enough for curvature not to matter; differences still have half of their digits. */
static const double step = sizeof(real) == sizeof(double) ? 0x1p-20 : 0x1p-8;

/* One-sided differences that differ by more than this part of their size show a kink. */
static const double apart = 1e-2;

enum { MOST = 48 }; /* elements on kinks that are checked */

typedef struct Ties {
    CheckRun *run;
    Entries *all;
    Arena *arena;
    long outputs;
    CheckBatch batch;
    real *here;
    int count; /* elements on a kink of some output */
    struct Element {
        int input;
        long coordinate;
        double *up, *down; /* [outputs] one-sided differences */
    } element[MOST];
    bool *tied; /* [MOST][MOST][outputs] */
} Ties;

/* Requests two runs, with these elements moved together up and down. */
static void ask(Ties *t, const struct Element *const x[], int count) {
    for (int side = 1; side >= -1; side -= 2) {
        check_batch_ask(&t->batch, count);
        for (int a = 0; a < count; a++) {
            real *at = point_element(&t->run->point->in[x[a]->input], x[a]->coordinate);
            check_batch_change(&t->batch, at, (real)((double)*at + side * step));
        }
    }
}

/* The one-sided differences from runs `run` and `run` + 1. */
static void slopes(const Ties *t, long run, double *up, double *down) {
    const real *above = check_batch_output(&t->batch, run), *below = check_batch_output(&t->batch, run + 1);
    for (long i = 0; i < t->outputs; i++) {
        up[i] = ((double)above[i] - (double)t->here[i]) / step;
        down[i] = ((double)below[i] - (double)t->here[i]) / -step;
    }
}

static bool on_kink(const struct Element *x, long output) {
    double size = fabs(x->up[output]) + fabs(x->down[output]);
    return isfinite(size) && fabs(x->up[output] - x->down[output]) > apart * size;
}

/* Keeps the elements that are on a kink of some output. */
static void find_elements(Ties *t) {
    for (int k = 0; k < t->run->point->inputs; k++) {
        check_batch_begin(&t->batch);
        for (long j = 0; j < t->all[k].coordinates; j++)
            ask(t, (const struct Element *[]){&(struct Element){k, j}}, 1);
        check_batch_run(&t->batch);
        for (long j = 0; j < t->all[k].coordinates && t->count < MOST; j++) {
            struct Element *x = &t->element[t->count];
            bool any = false;
            *x = (struct Element){k, j, arena_alloc(t->arena, (size_t)t->outputs * sizeof(double)),
                                  arena_alloc(t->arena, (size_t)t->outputs * sizeof(double))};
            slopes(t, 2 * j, x->up, x->down);
            for (long i = 0; i < t->outputs; i++) any |= on_kink(x, i);
            t->count += any;
        }
    }
}

static bool *tied(Ties *t, int a, int b, long output) {
    return &t->tied[((long)a * MOST + b) * t->outputs + output];
}

/* Finds pairs whose common change of an output is not the sum of the two single changes. */
static void find_pairs(Ties *t) {
    double *up = arena_alloc(t->arena, (size_t)t->outputs * sizeof *up);
    double *down = arena_alloc(t->arena, (size_t)t->outputs * sizeof *down);
    for (int a = 0; a < t->count; a++) {
        const struct Element *x = &t->element[a], *z = x + 1;
        check_batch_begin(&t->batch);
        for (; z < t->element + t->count; z++) ask(t, (const struct Element *[]){x, z}, 2);
        check_batch_run(&t->batch);
        for (int b = a + 1; b < t->count; b++) {
            z = &t->element[b];
            slopes(t, 2 * (b - a - 1), up, down);
            for (long i = 0; i < t->outputs; i++) {
                double size = fabs(x->up[i]) + fabs(z->up[i]) + fabs(x->down[i]) + fabs(z->down[i]);
                bool odd = fabs(up[i] - x->up[i] - z->up[i]) > apart * size ||
                           fabs(down[i] - x->down[i] - z->down[i]) > apart * size;
                *tied(t, a, b, i) = *tied(t, b, a, i) = odd && on_kink(x, i) && on_kink(z, i);
            }
        }
    }
}

/* Marks the elements tied to `first` at this output, directly or through others; returns how many. */
static int group_of(Ties *t, int first, long output, bool member[MOST]) {
    int size = 1;
    member[first] = true;
    for (bool grows = true; grows;) {
        grows = false;
        for (int a = 0; a < t->count; a++)
            for (int b = 0; b < t->count && !member[a]; b++)
                if (member[b] && *tied(t, a, b, output)) member[a] = grows = true, size++;
    }
    return size;
}

/* Whether the shares of the group add up to its derivative. If not, writes both numbers into text. */
static bool shares_fit(Ties *t, const bool member[MOST], int size, long output, char *text, size_t room) {
    double *up = arena_alloc(t->arena, (size_t)t->outputs * sizeof *up);
    double *down = arena_alloc(t->arena, (size_t)t->outputs * sizeof *down), sum = 0, scale = 0;
    const struct Element *moves[MOST];
    for (int a = 0, count = 0; a < t->count; a++)
        if (member[a]) moves[count++] = &t->element[a];
    check_batch_begin(&t->batch);
    ask(t, moves, size);
    check_batch_run(&t->batch);
    slopes(t, 0, up, down);
    for (int a = 0; a < t->count; a++) {
        if (!member[a]) continue;
        const Entries *e = &t->all[t->element[a].input];
        sum += e->entry[(1 + output) * e->coordinates + t->element[a].coordinate].analytic;
        scale += fabs(t->element[a].up[output]) + fabs(t->element[a].down[output]);
    }
    double low = fmin(up[output], down[output]), high = fmax(up[output], down[output]);
    if (sum >= low - apart * scale && sum <= high + apart * scale) return true;
    snprintf(
        text, room,
        "%d elements are tied at output element %ld: their gradients add up to %.4g, and all moved together "
        "they move it by %.4g: the shares of a tie are wrong",
        size, output, sum, sum < low ? low : high);
    return false;
}

/* Runs of the largest batch: both sides of each element of an input, or of each pair with one element. */
static long most_runs(const CheckRun *run, const Entries *all) {
    long most = MOST;
    for (int k = 0; k < run->point->inputs; k++)
        if (all[k].coordinates > most) most = all[k].coordinates;
    return 2 * most;
}

bool check_ties(CheckRun *run, Entries *all, Arena *arena, int *input, char *text, size_t size) {
    Ties t = {.run = run, .all = all, .arena = arena};
    point_ready(run->point, 0);
    const Tensor *y = check_run_forward(run);
    t.outputs = shape_count(y->shape);
    t.here = arena_alloc(arena, (size_t)t.outputs * sizeof *t.here);
    tensor_copy_out(y, t.here);
    long runs = most_runs(run, all);
    check_batch_open(&t.batch, run, arena, t.outputs, runs, 2 * runs);
    find_elements(&t);
    t.tied = arena_alloc(arena, (size_t)(MOST * MOST * t.outputs) * sizeof *t.tied);
    find_pairs(&t);
    for (long i = 0; i < t.outputs; i++) {
        bool seen[MOST] = {false};
        for (int a = 0; a < t.count; a++) {
            bool member[MOST] = {false};
            if (seen[a]) continue;
            int elements = group_of(&t, a, i, member);
            for (int b = 0; b < t.count; b++) seen[b] |= member[b];
            if (elements < 2 || shares_fit(&t, member, elements, i, text, size)) continue;
            *input = t.element[a].input;
            for (int b = 0; b < t.count; b++)
                if (member[b]) all[t.element[b].input].state[t.element[b].coordinate] = ENTRY_WRONG;
            return true;
        }
    }
    return false;
}
