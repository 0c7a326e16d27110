/* Other values tried: where they make a wrong gradient right, what they do away with is wrong. */
#include "check/gradcheck/other_point.h"
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Whether what backward finds where the run is may be right. */
static bool seems_right(Suspect *s) {
    const PointInput *in = &s->run->point->in[s->e->input];
    point_ready(s->run->point, 0);
    if (shape_count(check_run_forward(s->run)->shape) != s->e->outputs) return false;
    check_run_backward(s->run, s->e->cotangent);
    real *gradient = arena_alloc(s->arena, (size_t)in->count * sizeof *gradient);
    memcpy(gradient, in->tensor.grad, (size_t)in->count * sizeof *gradient);
    return point_may_have(s, s->e->input, gradient);
}

/* All are right, and of the elements that are wrong here at least half have a slope there that is not 0. */
static bool is_proved(Suspect *s) {
    const Entries part = point_entries(s);
    long wrong = 0, sloped = 0;
    for (long j = 0; j < part.coordinates; j++) {
        bool slope = false;
        if (part.state[j] > ENTRY_FLAT) return false;
        for (long q = 0; q < part.cotangents; q++)
            slope |= part.entry[q * part.coordinates + j].analytic != 0;
        wrong += s->e->state[j] == ENTRY_WRONG;
        sloped += s->e->state[j] == ENTRY_WRONG && slope;
    }
    return 2 * sloped >= wrong;
}

static bool right_at(Suspect *s, const CheckPoint *changed) {
    if (!point_may_change(s)) return false;
    CheckPoint there, *given = s->run->point;
    size_t used = point_go(s, changed, &there);
    bool right = seems_right(s) && is_proved(s);
    point_back(s, given, used);
    return right;
}

/* What was found, to be said. */
typedef struct Found {
    char text[REPORT_TEXT];
    int count;
    uint64_t form; /* of the first */
} Found;

static void add(Found *f, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void add(Found *f, const char *format, ...) {
    enum { MOST = 2 };
    size_t used = strlen(f->text);
    if (f->count++ >= MOST) return;
    if (used) used += (size_t)snprintf(f->text + used, sizeof f->text - used, ", and where ");
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(f->text + used, sizeof f->text - used, format, arguments);
    va_end(arguments);
    if (f->count == 1) f->form = pattern_form(f->text);
}

static void try_another_input(Suspect *s, int k, Found *f) {
    const CheckPoint *p = s->run->point;
    for (int other = 0; other < p->inputs; other++) {
        CheckPoint changed = *p;
        if (other == k || (other < k && !p->in[other].constant) ||
            !shape_equal(p->in[other].shape, p->in[k].shape))
            continue;
        if (point_change(s, &changed, k, p->in[other].value, 0) && right_at(s, &changed))
            add(f, "%s is the same as %s", p->in[k].name, p->in[other].name);
    }
}

/* Whether it is right where all of input k are `v`. */
static bool right_with(Suspect *s, int k, double v) {
    CheckPoint changed = *s->run->point;
    return point_change(s, &changed, k, NULL, v) && right_at(s, &changed);
}

/* The mean of a matrix and its transpose. */
static void try_symmetric(Suspect *s, int k, Found *f) {
    const PointInput *in = &s->run->point->in[k];
    int last = in->shape.rank - 1;
    if (last < 1 || in->shape.size[last] != in->shape.size[last - 1]) return;
    AlongAxis row = pattern_along(in->shape, last - 1), column = pattern_along(in->shape, last);
    real *value = arena_alloc(s->arena, (size_t)in->count * sizeof *value);
    for (long i = 0; i < in->count; i++) {
        long by = pattern_index_along(&column, i) - pattern_index_along(&row, i);
        value[i] = (in->value[i] + in->value[i + by * (row.inner - column.inner)]) / 2;
    }
    CheckPoint changed = *s->run->point;
    if (point_change(s, &changed, k, value, 0) && right_at(s, &changed))
        add(f, "%s is its own transpose", in->name);
}

/* As when one row's number is taken for that of another. */
static bool try_equal_rows(Suspect *s, int k, Found *f) {
    const PointInput *in = &s->run->point->in[k];
    bool any = false;
    for (int axis = 0; axis < in->shape.rank && in->shape.rank > 1; axis++) {
        AlongAxis a = pattern_along(in->shape, axis);
        CheckPoint changed = *s->run->point;
        real *value = arena_alloc(s->arena, (size_t)in->count * sizeof *value);
        for (long i = 0; i < in->count; i++) value[i] = in->value[i - pattern_index_along(&a, i) * a.inner];
        if (!point_change(s, &changed, k, value, 0) || !right_at(s, &changed)) continue;
        add(f, "all along axis %d of %s are the same", axis, in->name);
        any = true;
    }
    return any;
}

static void try_one_value(Suspect *s, int k, Found *f) {
    const PointInput *in = &s->run->point->in[k];
    double low = INFINITY, high = -INFINITY;
    if (try_equal_rows(s, k, f)) return;
    for (long i = 0; i < in->count; i++)
        low = fmin(low, (double)in->value[i]), high = fmax(high, (double)in->value[i]);
    if (high > low && right_with(s, k, low) && right_with(s, k, high)) {
        add(f, "all of %s are one number", in->name);
        return;
    }
    for (int v = 0; v < 2; v++)
        if (right_with(s, k, v)) add(f, "%s is %d", in->name, v);
}

/* As when a branch is taken in forward and not in backward. */
static void try_small_values(Suspect *s, Found *f) {
    const double part = 1.0 / 16;
    CheckPoint changed = *s->run->point, *p = s->run->point;
    bool any = false;
    for (int k = 0; k < p->inputs; k++) {
        CheckPoint one = changed;
        real *small = arena_alloc(s->arena, (size_t)p->in[k].count * sizeof *small);
        for (long i = 0; i < p->in[k].count; i++) small[i] = (real)part * p->in[k].value[i];
        if (point_change(s, &one, k, small, 0)) changed = one, any = true;
    }
    if (any && right_at(s, &changed)) add(f, "all values are 16 times as small");
}

bool pattern_right_elsewhere(Suspect *s) {
    const CheckPoint *p = s->run->point;
    Found f = {0};
    for (int k = 0; k < p->inputs; k++) try_another_input(s, k, &f);
    for (int k = 0; k < p->inputs; k++) try_symmetric(s, k, &f);
    for (int k = 0; k < p->inputs; k++) try_one_value(s, k, &f);
    if (!f.count) try_small_values(s, &f);
    if (!f.count) return false;
    pattern_say(s, "right where %s: is what this does away with wrong, or left out?", f.text);
    s->said.form = f.form; /* another case may have no other */
    return true;
}
