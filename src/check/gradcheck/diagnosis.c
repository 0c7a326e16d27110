#include "check/gradcheck/diagnosis.h"
#include "check/gradcheck/numeric_derivative.h"
#include "check/gradcheck/patterns.h"
#include "check/gradcheck/rounding.h"
#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

AlongAxis pattern_along(Shape s, int axis) {
    AlongAxis a = {axis, s.size[axis], 1};
    for (int i = axis + 1; i < s.rank; i++) a.inner *= s.size[i];
    return a;
}

long pattern_index_along(const AlongAxis *a, long i) {
    return i / a->inner % a->n;
}

int pattern_axes_in(unsigned set) {
    int n = 0;
    for (; set; set &= set - 1) n++;
    return n;
}

long *pattern_numbers_along(Arena *arena, Shape shape, unsigned axes, long n, long *count) {
    long *number = arena_alloc(arena, (size_t)n * sizeof *number);
    *count = 1;
    for (int axis = 0; axis < shape.rank; axis++) {
        AlongAxis a = pattern_along(shape, axis);
        if (!(axes >> axis & 1)) continue;
        for (long i = 0; i < n; i++) number[i] = number[i] * a.n + pattern_index_along(&a, i);
        *count *= a.n;
    }
    return number;
}

bool pattern_near(const Suspect *s, long at, double a, double b) {
    double size = fmax(fmax(fabs(a), fabs(b)), s->scale[at / s->e->coordinates]);
    if (!isfinite(size)) return a == b;
    return fabs(a - b) <= s->tolerance * size;
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

bool pattern_fits_factors(Suspect *s, const double *factor) {
    for (long at = 0; at < s->e->cotangents * s->e->coordinates; at++)
        s->expected[at] = s->numeric[at] * factor[at % s->e->coordinates];
    return pattern_fits(s);
}

bool pattern_fits_moved(Suspect *s, const long *from) {
    for (long q = 0; q < s->e->cotangents; q++)
        for (long j = 0; j < s->e->coordinates; j++)
            s->expected[q * s->e->coordinates + j] = s->numeric[q * s->e->coordinates + from[j]];
    return pattern_fits(s);
}

bool pattern_has_jacobian(const Suspect *s) {
    return s->e->whole && s->e->cotangents > s->e->outputs;
}

uint64_t pattern_form(const char *text) {
    const uint64_t basis = 0xcbf29ce484222325, prime = 0x100000001b3; /* FNV-1a, 64 bits */
    uint64_t form = basis;
    for (const char *at = text; *at; at++) {
        bool number = isdigit((unsigned char)*at) || (*at == '-' && isdigit((unsigned char)at[1]));
        bool of_an_axis = at - text >= 5 && strncmp(at - 5, "axis ", 5) == 0;
        unsigned char c = (unsigned char)*at;
        if (*at == '[' && isdigit((unsigned char)at[1])) { /* an index, which a number by itself has not */
            at += strcspn(at, "]");
            continue;
        }
        if (number && !of_an_axis) {
            char *end;
            strtod(at, &end);
            at = end - 1, c = 0;
        }
        form = (form ^ c) * prime;
    }
    return form;
}

bool pattern_say(Suspect *s, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(s->said.reason, REPORT_TEXT, format, arguments);
    va_end(arguments);
    s->said.form = pattern_form(s->said.reason);
    return true;
}

/* Whether a shape broadcasts to another, its first axis at axis `first` of that. */
static bool lies_at(Shape from, Shape over, int first) {
    if (first < 0) return false;
    for (int i = 0; i < from.rank; i++)
        if (from.size[i] != 1 && from.size[i] != over.size[first + i]) return false;
    return true;
}

bool pattern_values_over(const Suspect *s, Shape over, int which, double *v, const char **name) {
    const CheckPoint *p = s->run->point;
    Shape from = which < p->inputs ? p->in[which].shape : s->y_shape;
    const real *value = which < p->inputs ? p->in[which].value : s->y;
    *name = which < p->inputs ? p->in[which].name : "the output";
    if (from.rank > over.rank || shape_count(from) == 0) return false;
    int first = over.rank - from.rank;
    if (!lies_at(from, over, first)) first = 0; /* as a number a row does */
    if (!lies_at(from, over, first)) return false;
    for (long j = 0; j < shape_count(over); j++) {
        long at = 0;
        for (int axis = 0; axis < from.rank; axis++) {
            AlongAxis a = pattern_along(over, first + axis);
            at = at * from.size[axis] + (from.size[axis] == 1 ? 0 : pattern_index_along(&a, j));
        }
        v[j] = (double)value[at];
    }
    return true;
}

bool pattern_values_beside(const Suspect *s, int which, double *v, const char **name) {
    return pattern_values_over(s, s->shape, which, v, name);
}

static void describe(Suspect *s, const CheckRun *run) {
    const Entries *e = s->e;
    size_t rows = (size_t)(e->whole ? 1 + e->outputs : e->cotangents);
    size_t entries = rows * (size_t)e->coordinates;
    s->tolerance = e->tolerance > 0 ? e->tolerance : CHECK_TOLERANCE;
    s->shape = s->in->shape;
    if (s->in->repeats > 1) s->shape.size[0] = 1;
    s->y_shape = run->y->shape;
    s->y = arena_alloc(s->arena, (size_t)e->outputs * sizeof *s->y);
    tensor_copy_out(run->y, s->y);
    s->analytic = arena_alloc(s->arena, entries * sizeof(double));
    s->numeric = arena_alloc(s->arena, entries * sizeof(double));
    s->expected = arena_alloc(s->arena, entries * sizeof(double));
    s->scale = arena_alloc(s->arena, rows * sizeof(double));
    for (size_t i = 0; i < entries; i++) {
        s->analytic[i] = e->entry[i].analytic;
        s->numeric[i] = e->entry[i].numeric;
        /* What is not resolved is 0 for a pattern, on both sides: else the rounding of a right 0 would refute it. */
        double least = SWEEP_TRUST * e->entry[i].estimate;
        if (fabs(s->numeric[i]) <= least) {
            s->numeric[i] = 0;
            if (fabs(s->analytic[i]) <= least) s->analytic[i] = 0;
        }
        if (isfinite(s->numeric[i])) {
            double *scale = &s->scale[i / (size_t)e->coordinates];
            *scale = fmax(*scale, fabs(s->numeric[i]));
        }
    }
}

/* What explains small errors has to be nearer than they are. */
static void sharpen(Suspect *s) {
    double largest = 0;
    for (long i = 0; i < s->e->cotangents * s->e->coordinates; i++) {
        double off = fabs(s->analytic[i] - s->numeric[i]) / s->scale[i / s->e->coordinates];
        if (isfinite(off)) largest = fmax(largest, off);
    }
    if (largest > 0)
        s->tolerance = fmin(s->tolerance, fmax(largest / 20, ROUNDINGS_OF_A_RUN * (double)REAL_EPSILON));
}

void gradcheck_explain_by(InputReport *report, const Explanation *x) {
    REPORT_SET(report->pattern, x ? x->pattern : "unknown");
    REPORT_SET(report->reason, x ? x->reason : "");
    report->form = x ? x->form : 0;
}

void gradcheck_diagnose(CheckRun *run, const Entries *all, int k, Arena *arena, InputReport *report) {
    static const struct {
        const char *name;
        bool (*explains)(Suspect *s);
        bool of_a_sample;
        enum { SEEN, SURE } how;
    } pattern[] = {
#define PATTERN(name, function, of_a_sample, how) {name, pattern_##function, of_a_sample, how},
#include "check/gradcheck/patterns.def"
#undef PATTERN
    };
    Suspect s = {.run = run, .all = all, .e = &all[k], .in = &run->point->in[k], .arena = arena};
    point_ready(run->point, 0);
    check_run_forward(run);
    describe(&s, run);
    sharpen(&s);
    bool sure = false;
    const Explanation *found = NULL; /* the first that is worth to be said by itself */
    report->explanations = 0;
    gradcheck_explain_by(report, NULL);
    for (size_t i = 0; i < sizeof pattern / sizeof *pattern; i++) {
        if ((sure && pattern[i].how == SEEN) || (s.e->place && !pattern[i].of_a_sample)) continue;
        s.more = true;
        for (s.turn = 0; s.more && report->explanations < EXPLANATIONS; s.turn++) {
            s.more = s.said.of_sizes = s.said.weak = false;
            if (!pattern[i].explains(&s)) break;
            Explanation *x = &report->explanation[report->explanations++];
            *x = s.said;
            x->sure = pattern[i].how == SURE;
            x->order = (int)i;
            REPORT_SET(x->pattern, pattern[i].name);
            sure |= x->sure && !x->weak;
            if (!found && !x->weak) gradcheck_explain_by(report, found = x);
        }
    }
}
