#include "gradcheck/check_ties.h"
#include <math.h>
#include <stdio.h>

/* A step that is small beside what bends a function, and whose differences still have half of their digits. */
static const double step = sizeof(real) == sizeof(double) ? 0x1p-20 : 0x1p-8;

/* One-sided differences that differ by this part of their size belong to a kink. */
static const double apart = 1e-2;

enum { MOST = 48 }; /* elements on kinks that are looked at */

typedef struct Ties {
    CheckRun *run;
    Entries *all;
    Arena *arena;
    long outputs;
    real *here, *there;
    int count; /* elements that are on a kink of an output */
    struct Element {
        int input;
        long coordinate;
        double *up, *down; /* [outputs] one-sided differences */
    } element[MOST];
    bool *tied; /* [MOST][MOST][outputs] */
} Ties;

/* The outputs with the elements that `moves` moved by `by`; their differences to here, by `by`, go to `slope`. */
static void slopes(Ties *t, const bool moves[MOST], double by, double *slope) {
    real kept[MOST];
    for (int a = 0; a < t->count; a++) {
        real *x = point_element(&t->run->point->in[t->element[a].input], t->element[a].coordinate);
        kept[a] = *x;
        if (moves[a]) *x = (real)((double)*x + by);
    }
    point_ready(t->run->point, 0);
    tensor_copy_out(check_run_forward(t->run), t->there);
    for (int a = 0; a < t->count; a++)
        *point_element(&t->run->point->in[t->element[a].input], t->element[a].coordinate) = kept[a];
    for (long i = 0; i < t->outputs; i++) slope[i] = ((double)t->there[i] - (double)t->here[i]) / by;
}

static bool on_kink(const struct Element *x, long output) {
    double size = fabs(x->up[output]) + fabs(x->down[output]);
    return isfinite(size) && fabs(x->up[output] - x->down[output]) > apart * size;
}

/* Keeps the elements that are on a kink of some output. */
static void find_elements(Ties *t) {
    for (int k = 0; k < t->run->point->inputs; k++)
        for (long j = 0; j < t->all[k].coordinates && t->count < MOST; j++) {
            struct Element *x = &t->element[t->count];
            bool moves[MOST] = {false}, any = false;
            *x = (struct Element){k, j, arena_alloc(t->arena, (size_t)t->outputs * sizeof(double)),
                                  arena_alloc(t->arena, (size_t)t->outputs * sizeof(double))};
            moves[t->count++] = true;
            slopes(t, moves, step, x->up);
            slopes(t, moves, -step, x->down);
            for (long i = 0; i < t->outputs; i++) any |= on_kink(x, i);
            if (!any) t->count--;
        }
}

static bool *tied(Ties *t, int a, int b, long output) {
    return &t->tied[((long)a * MOST + b) * t->outputs + output];
}

/* On either side: an answer to both that is not the sum of the two answers. */
static void find_pairs(Ties *t) {
    double *both[2];
    for (int side = 0; side < 2; side++)
        both[side] = arena_alloc(t->arena, (size_t)t->outputs * sizeof(double));
    for (int a = 0; a < t->count; a++)
        for (int b = a + 1; b < t->count; b++) {
            bool moves[MOST] = {false};
            moves[a] = moves[b] = true;
            slopes(t, moves, step, both[0]);
            slopes(t, moves, -step, both[1]);
            const struct Element *x = &t->element[a], *z = &t->element[b];
            for (long i = 0; i < t->outputs; i++) {
                double size = fabs(x->up[i]) + fabs(z->up[i]) + fabs(x->down[i]) + fabs(z->down[i]);
                bool odd = fabs(both[0][i] - x->up[i] - z->up[i]) > apart * size ||
                           fabs(both[1][i] - x->down[i] - z->down[i]) > apart * size;
                *tied(t, a, b, i) = *tied(t, b, a, i) = odd && on_kink(x, i) && on_kink(z, i);
            }
        }
}

/* The elements tied to `first` at this output, one through the other. */
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

/* Whether the shares of the group add up to what they should; what was found and needed goes into the text. */
static bool shares_fit(Ties *t, const bool member[MOST], int size, long output, char *text, size_t room) {
    double *up = arena_alloc(t->arena, (size_t)t->outputs * sizeof *up);
    double *down = arena_alloc(t->arena, (size_t)t->outputs * sizeof *down), sum = 0, scale = 0;
    slopes(t, member, step, up);
    slopes(t, member, -step, down);
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

bool check_ties(CheckRun *run, Entries *all, Arena *arena, int *input, char *text, size_t size) {
    Ties t = {.run = run, .all = all, .arena = arena};
    point_ready(run->point, 0);
    const Tensor *y = check_run_forward(run);
    t.outputs = shape_count(y->shape);
    t.here = arena_alloc(arena, (size_t)t.outputs * sizeof *t.here);
    t.there = arena_alloc(arena, (size_t)t.outputs * sizeof *t.there);
    tensor_copy_out(y, t.here);
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
