#include "check/gradcheck/patterns.h"
#include "check/gradcheck/numeric_derivative.h"
#include "check/gradcheck/rounding.h"
#include <math.h>
#include <stdarg.h>
#include <stdio.h>

long pattern_index(Shape s, int axis, long i) {
    for (int inner = s.rank - 1; inner > axis; inner--) i /= s.size[inner];
    return i % s.size[axis];
}

long pattern_at_index(Shape s, int axis, long i, long to) {
    long step = to - pattern_index(s, axis, i);
    for (int inner = s.rank - 1; inner > axis; inner--) step *= s.size[inner];
    return i + step;
}

PatternNeeds pattern_known(const Suspect *s) {
    return s->e->place ? SAMPLE : !s->e->whole ? ALL : s->e->cotangents > s->e->outputs ? ROWS : JACOBIAN;
}

bool pattern_near(const Suspect *s, long at, double a, double b) {
    double size = fmax(fmax(fabs(a), fabs(b)), s->scale[at / s->e->coordinates]);
    if (!isfinite(size)) return a == b;
    return fabs(a - b) <= s->tolerance * size;
}

bool pattern_is_wrong(const Suspect *s, long at) {
    return s->e->entry[at].state != ENTRY_KINK && isfinite(s->numeric[at]) &&
           !pattern_near(s, at, s->analytic[at], s->numeric[at]);
}

bool pattern_fits(const Suspect *s) {
    bool any = false;
    for (long at = 0; at < s->e->cotangents * s->e->coordinates; at++) {
        if (s->e->entry[at].state == ENTRY_KINK || !isfinite(s->numeric[at])) continue;
        if (!pattern_near(s, at, s->analytic[at], s->expected[at])) return false;
        any = true;
    }
    return any;
}

bool pattern_say(Suspect *s, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(s->reason, REPORT_TEXT, format, arguments);
    va_end(arguments);
    return true;
}

/* Whether shape `from` broadcasts to `over` with its first axis at axis `first`. */
static bool lies_at(Shape from, Shape over, int first) {
    if (first < 0) return false;
    for (int i = 0; i < from.rank; i++)
        if (from.size[i] != 1 && from.size[i] != over.size[first + i]) return false;
    return true;
}

bool pattern_values_over(const Suspect *s, Shape over, int which, double *v, const char **name) {
    const CheckPoint *p = s->g->run->point;
    Shape from = which < p->inputs ? p->in[which].shape : s->y_shape;
    const real *value = which < p->inputs ? p->in[which].value : s->y;
    *name = which < p->inputs ? p->in[which].name : "the output";
    if (from.rank > over.rank || shape_count(from) == 0) return false;
    int first = over.rank - from.rank;
    if (!lies_at(from, over, first)) first = 0; /* as one number for each row does */
    if (!lies_at(from, over, first)) return false;
    for (long j = 0; j < shape_count(over); j++) {
        long at = 0;
        for (int axis = 0; axis < from.rank; axis++) {
            at = at * from.size[axis] + (from.size[axis] == 1 ? 0 : pattern_index(over, first + axis, j));
        }
        v[j] = (double)value[at];
    }
    return true;
}

/* A pattern that explains small errors has to be nearer than they are. */
static void sharpen(Suspect *s) {
    double largest = 0;
    for (long i = 0; i < s->e->cotangents * s->e->coordinates; i++) {
        double off = fabs(s->analytic[i] - s->numeric[i]) / s->scale[i / s->e->coordinates];
        if (isfinite(off)) largest = fmax(largest, off);
    }
    s->tolerance = s->e->tolerance > 0 ? s->e->tolerance : s->e->steps ? CHECK_COARSE / 10 : CHECK_TOLERANCE;
    if (largest > 0)
        s->tolerance = fmin(s->tolerance, fmax(largest / 20, ROUNDINGS_OF_A_RUN * (double)REAL_EPSILON));
}

Suspect pattern_suspect(const Gradients *g, int k) {
    const Entries *e = &g->element[k];
    size_t rows = (size_t)(e->whole ? 1 + e->outputs : e->cotangents),
           entries = rows * (size_t)e->coordinates;
    Suspect suspect = {.g = g, .e = e, .in = &g->run->point->in[k]}, *s = &suspect;
    s->shape = s->in->shape;
    if (s->in->stored < s->in->count) s->shape.size[0] = 1;
    s->y_shape = s->g->run->y->shape;
    s->y = arena_alloc(s->g->arena, (size_t)e->outputs * sizeof *s->y);
    tensor_copy_out(s->g->run->y, s->y);
    s->analytic = arena_alloc(s->g->arena, entries * sizeof(double));
    s->numeric = arena_alloc(s->g->arena, entries * sizeof(double));
    s->expected = arena_alloc(s->g->arena, entries * sizeof(double));
    s->scale = arena_alloc(s->g->arena, rows * sizeof(double));
    for (size_t i = 0; i < entries; i++) {
        s->analytic[i] = e->entry[i].analytic;
        s->numeric[i] = e->entry[i].numeric;
        /* An unresolved entry is 0 on both sides: else the rounding of a right 0 would refute a pattern. */
        double least = SWEEP_TRUST * e->entry[i].estimate;
        if (fabs(s->numeric[i]) <= least) {
            s->numeric[i] = 0;
            if (fabs(s->analytic[i]) <= least) s->analytic[i] = 0;
        }
        double *scale = &s->scale[i / (size_t)e->coordinates];
        if (isfinite(s->numeric[i])) *scale = fmax(*scale, fabs(s->numeric[i]));
    }
    sharpen(s);
    return suspect;
}
