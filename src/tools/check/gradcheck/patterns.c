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
    if (s->e->place) return SAMPLE;
    return s->e->whole ? ROWS : ALL;
}

bool pattern_near(const Suspect *s, long at, double a, double b) {
    double size = fmax(fmax(fabs(a), fabs(b)), s->scale[at / s->n]);
    if (!isfinite(size)) return a == b;
    return fabs(a - b) <= s->tolerance * size;
}

bool pattern_is_wrong(const Suspect *s, long at) {
    return s->e->entry[at].state != ENTRY_KINK && isfinite(s->numeric[at]) &&
           !pattern_near(s, at, s->analytic[at], s->numeric[at]);
}

bool pattern_fits(const Suspect *s) {
    bool any = false;
    for (long at = 0; at < s->entries; at++) {
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
    const CheckPoint *p = s->point;
    Shape from = which < p->inputs ? p->in[which].shape : s->y_shape;
    const real *value = which < p->inputs ? p->in[which].value : s->y;
    *name = which < p->inputs ? p->in[which].name : "the output";
    if (from.rank > over.rank || shape_count(from) == 0) return false;
    int first = over.rank - from.rank;
    if (!lies_at(from, over, first)) first = 0; /* as one number for each row does */
    if (!lies_at(from, over, first)) return false;
    for (long j = 0; j < shape_count(over); j++) {
        long at = 0;
        for (int axis = 0; axis < from.rank; axis++)
            at = at * from.size[axis] + pattern_index(over, first + axis, j) % from.size[axis];
        v[j] = (double)value[at];
    }
    return true;
}

/* A pattern that explains small errors has to be nearer than they are. */
static void sharpen(Suspect *s) {
    double largest = 0;
    for (long i = 0; i < s->entries; i++) {
        double off = fabs(s->analytic[i] - s->numeric[i]) / s->scale[i / s->n];
        if (isfinite(off)) largest = fmax(largest, off);
    }
    s->tolerance = s->e->steps ? CHECK_COARSE / 10 : CHECK_TOLERANCE;
    if (largest > 0)
        s->tolerance =
            fmin(s->tolerance, fmax(largest / 20, ROUNDINGS_OF_A_RUN * (double)REAL_EPSILON));
}

Suspect pattern_suspect(const Gradients *g, int k) {
    const Entries *e = &g->element[k];
    const PointInput *in = &g->run->point->in[k];
    const Tensor *y = g->run->y;
    Suspect s = {.g = g, .e = e, .point = g->run->point, .in = in, .arena = g->arena};
    s.n = e->coordinates, s.rows = e->cotangents, s.entries = s.rows * s.n, s.outputs = e->outputs;
    s.shape = in->shape, s.y_shape = y->shape;
    if (in->stored < in->count) s.shape.size[0] = 1;
    s.y = arena_alloc(s.arena, (size_t)s.outputs * sizeof *s.y);
    tensor_copy_out(y, s.y);
    s.scale = arena_alloc(s.arena, (size_t)s.rows * sizeof *s.scale);
    s.analytic = arena_alloc(s.arena, 3 * (size_t)s.entries * sizeof *s.analytic);
    s.numeric = s.analytic + s.entries, s.expected = s.numeric + s.entries;
    for (long i = 0; i < s.entries; i++) {
        double analytic = e->entry[i].analytic, numeric = e->entry[i].numeric;
        /* An unresolved entry is 0 on both sides: else the rounding of a right 0 would refute a pattern. */
        double least = SWEEP_TRUST * e->entry[i].estimate, *scale = &s.scale[i / s.n];
        bool unresolved = fabs(numeric) <= least;
        s.numeric[i] = unresolved ? 0 : numeric;
        s.analytic[i] = unresolved && fabs(analytic) <= least ? 0 : analytic;
        if (isfinite(numeric)) *scale = fmax(*scale, fabs(s.numeric[i]));
    }
    sharpen(&s);
    return s;
}
