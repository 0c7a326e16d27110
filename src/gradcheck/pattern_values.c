/* Other values tried: where they make a wrong gradient right, what they do away with is wrong. */
#include "base/random.h"
#include "gradcheck/numeric_derivative.h"
#include "gradcheck/patterns.h"
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { MOST_ENTRIES = 1 << 12 }; /* each takes runs of its own */

/* Whether a value may stand in input k: as its case says, nobody knows what it is to the operation. */
static bool may_hold(const Suspect *s, int k, double v) {
    const CheckInput *how = &s->run->c->in[k];
    const PointInput *in = &s->run->point->in[k];
    double low = how->low, high = how->high;
    if (how->values) {
        low = INFINITY, high = -INFINITY;
        for (long i = 0; i < in->count; i++)
            low = fmin(low, (double)in->value[i]), high = fmax(high, (double)in->value[i]);
    } else if (low == 0 && high == 0) {
        low = -2, high = 2;
    }
    return v >= low && v <= high && !(fabs(v - how->away_from) < how->margin);
}

/* The derivative of Σ_i c_i y_i along a direction of an input where the run is, by one difference: it finds out what is wrong by
 * a few runs but for chance. NAN: the output has another size there. */
static double slope_along(Suspect *s, int input, const real *direction) {
    const double step = 1e-5;
    CheckRun *run = s->run;
    const real *c = s->e->cotangent;
    real *y = arena_alloc(s->arena, (size_t)s->e->outputs * sizeof *y);
    double slope = 0;
    for (int side = -1; side <= 1; side += 2) {
        point_move(run->point, input, direction, (real)(side * step));
        point_ready(run->point, 0);
        const Tensor *out = check_run_forward(run);
        if (shape_count(out->shape) != s->e->outputs) slope = NAN;
        if (!isnan(slope)) tensor_copy_out(out, y);
        for (long i = 0; i < s->e->outputs; i++) slope += side * (double)c[i] * (double)y[i] / (2 * step);
    }
    point_restore(run->point, input);
    return slope;
}

bool pattern_may_be(Suspect *s, int input, const real *gradient) {
    const double room = 1e-5;
    const PointInput *in = &s->run->point->in[input];
    real *direction = arena_alloc(s->arena, (size_t)in->count * sizeof *direction);
    double found = 0, size = 0;
    if (in->repeats > 1) return true;
    check_run_direction(direction, in->count, random_key(0, 0x7E57));
    for (long j = 0; j < in->count; j++) {
        double part = (double)direction[j] * (double)(gradient ? gradient[j] : (real)s->analytic[j]);
        found += part, size += fabs(part);
    }
    double slope = slope_along(s, input, direction);
    return size > 0 && fabs(found - slope) <= room * fmax(size, fabs(slope));
}

/* Whether what backward finds where the run is may be right. */
static bool seems_right(Suspect *s) {
    const PointInput *in = &s->run->point->in[s->e->input];
    point_ready(s->run->point, 0);
    if (shape_count(check_run_forward(s->run)->shape) != s->e->outputs) return false;
    check_run_backward(s->run, s->e->cotangent);
    real *gradient = arena_alloc(s->arena, (size_t)in->count * sizeof *gradient);
    memcpy(gradient, in->tensor.grad, (size_t)in->count * sizeof *gradient);
    return pattern_may_be(s, s->e->input, gradient);
}

/* All entries at the point where the run is. */
static Entries entries_there(Suspect *s) {
    Entries part = *s->e;
    size_t entries = (size_t)(part.cotangents * part.coordinates);
    part.entry = arena_alloc(s->arena, entries * sizeof *part.entry);
    part.state = arena_alloc(s->arena, (size_t)part.coordinates * sizeof *part.state);
    part.doubt = arena_alloc(s->arena, (size_t)part.coordinates * sizeof *part.doubt);
    const PointInput *in = &s->run->point->in[part.input];
    for (long q = 0; q < part.cotangents; q++) {
        point_ready(s->run->point, 0);
        check_run_forward(s->run);
        check_run_backward(s->run, part.cotangent + q * part.outputs);
        for (long j = 0; j < part.coordinates; j++)
            part.entry[q * part.coordinates + j].analytic = (double)in->tensor.grad[j];
    }
    check_entries(s->run, &part, s->arena);
    return part;
}

/* All are right, and of the elements that are wrong here at least half have a slope there that is not 0. */
static bool is_proved(Suspect *s) {
    const Entries part = entries_there(s);
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

/* Moves the run to the values of `changed`, laid out plainly, and back. Returns what memory was used before. */
static size_t go_to(Suspect *s, const CheckPoint *changed, CheckPoint *there) {
    size_t used = s->run->point->memory ? s->run->point->memory->used : 0;
    point_lay_out(there, s->arena, changed, (CheckLayout[CHECK_INPUTS]){0});
    s->run->point = there;
    return used;
}
static void go_back(Suspect *s, CheckPoint *given, size_t used) {
    s->run->point = given;
    if (given->memory) given->memory->used = used;
}

static bool right_at(Suspect *s, const CheckPoint *changed) {
    CheckPoint there, *given = s->run->point;
    size_t used = go_to(s, changed, &there);
    bool right = seems_right(s) && is_proved(s);
    go_back(s, given, used);
    return right;
}

/* Gives input k of the point these values (NULL: `all` everywhere), where it may hold them and does not yet. */
static bool change(const Suspect *s, CheckPoint *p, int k, const real *value, double all) {
    PointInput *in = &p->in[k];
    bool differs = false;
    if (in->constant) return false;
    in->value = arena_alloc(s->arena, (size_t)in->count * sizeof *in->value);
    for (long i = 0; i < in->count; i++) {
        in->value[i] = value ? value[i] : (real)all;
        if (!may_hold(s, k, (double)in->value[i])) return false;
        differs |= in->value[i] != s->run->point->in[k].value[i];
    }
    return differs;
}

/* What was found, to be said. */
typedef struct Found {
    char text[REPORT_TEXT];
    int count;
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
}

static void try_another_input(Suspect *s, int k, Found *f) {
    const CheckPoint *p = s->run->point;
    for (int other = 0; other < p->inputs; other++) {
        CheckPoint changed = *p;
        if (other == k || (other < k && !p->in[other].constant) ||
            !shape_equal(p->in[other].shape, p->in[k].shape))
            continue;
        if (change(s, &changed, k, p->in[other].value, 0) && right_at(s, &changed))
            add(f, "%s is the same as %s", p->in[k].name, p->in[other].name);
    }
}

/* Whether it is right where all of input k are `v`. */
static bool right_with(Suspect *s, int k, double v) {
    CheckPoint changed = *s->run->point;
    return change(s, &changed, k, NULL, v) && right_at(s, &changed);
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
    if (change(s, &changed, k, value, 0) && right_at(s, &changed))
        add(f, "%s is its own transpose", in->name);
}

static void try_one_value(Suspect *s, int k, Found *f) {
    const PointInput *in = &s->run->point->in[k];
    double low = INFINITY, high = -INFINITY;
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
        if (change(s, &one, k, small, 0)) changed = one, any = true;
    }
    if (any && right_at(s, &changed)) add(f, "all values are 16 times as small");
}

/* Whether points can be made of this one by giving an input other values. */
static bool plain(const CheckPoint *p) {
    for (int i = 0; i < p->inputs; i++)
        if (p->in[i].repeats > 1 || p->in[i].same_as >= 0) return false;
    return true;
}

/* The same, and few enough entries to be looked at again at each. */
static bool can_be_changed(const Suspect *s) {
    return plain(s->run->point) && s->e->coordinates * s->e->cotangents <= MOST_ENTRIES;
}

bool pattern_right_elsewhere(Suspect *s) {
    const CheckPoint *p = s->run->point;
    Found f = {0};
    if (!can_be_changed(s)) return false;
    for (int k = 0; k < p->inputs; k++) try_another_input(s, k, &f);
    for (int k = 0; k < p->inputs; k++) try_symmetric(s, k, &f);
    for (int k = 0; k < p->inputs; k++) try_one_value(s, k, &f);
    if (!f.count) try_small_values(s, &f);
    return f.count > 0 &&
           pattern_say(s, "right where %s: is what this does away with wrong, or left out?", f.text);
}

bool pattern_keeps_output(Suspect *s, bool ratios) {
    const double by[] = {0.9, 0.1}; /* times, or plus */
    CheckPoint changed = *s->run->point, there, *given = s->run->point;
    PointInput *in = &changed.in[s->e->input];
    real *value = arena_alloc(s->arena, (size_t)in->count * sizeof *value);
    real *y = arena_alloc(s->arena, (size_t)s->e->outputs * sizeof *y);
    double sign = (double)in->value[0] > 0 ? -1 : 1, off = 0, size = 0;
    for (long i = 0; i < in->count; i++)
        value[i] = ratios ? (real)by[0] * in->value[i] : in->value[i] + (real)(sign * by[1]);
    in->value = value;
    if (!plain(given)) return false;
    size_t used = go_to(s, &changed, &there);
    point_ready(&there, 0);
    tensor_copy_out(check_run_forward(s->run), y);
    go_back(s, given, used);
    for (long i = 0; i < s->e->outputs; i++) {
        off = fmax(off, fabs((double)y[i] - (double)s->y[i]));
        size = fmax(size, fabs((double)s->y[i]));
    }
    return off <= 1e-6 * size;
}

/* Between each value and the one as far from the other end: values that the input may hold. `every`: of elements j with
 * j % 2 != every only; 2: of all. */
static bool mix(const Suspect *s, CheckPoint *p, int k, int every) {
    const PointInput *in = &s->run->point->in[k];
    real *value = arena_alloc(s->arena, (size_t)in->count * sizeof *value);
    for (long i = 0; i < in->count; i++) {
        real other = in->count > 1 ? in->value[(i + in->count / 2) % in->count] : 0;
        value[i] = i % 2 == every ? in->value[i] : (3 * in->value[i] + other) / 4;
    }
    return change(s, p, k, value, 0);
}

/* Whether each gradient found, in terms of the right one, is there what it is here, of the elements j with j % 2 == of (2: of
 * all). moved: how many of them have another right one there. */
static bool same_factors(const Suspect *s, const Entries *there, int of, long *moved) {
    const double room = 1e-5;
    for (long j = 0; j < s->e->coordinates; j++) {
        const Entry *here = &s->e->entry[j], *other = &there->entry[j];
        if (s->e->state[j] != ENTRY_WRONG || (of < 2 && j % 2 != of) || s->numeric[j] == 0) continue;
        double k = here->analytic / here->numeric;
        if (!(fabs(other->analytic - k * other->numeric) <= room * fabs(k * other->numeric))) return false;
        *moved += fabs(other->numeric - here->numeric) > 0.001 * fabs(here->numeric);
    }
    return true;
}

/* As when a link of the chain rule between an input and what is made of it is wrong, and what comes after it is right. */
static bool own_factor(Suspect *s, long wrong) {
    CheckPoint changed = *s->run->point, there, *given = s->run->point;
    bool any = false;
    long moved = 0;
    for (int k = 0; k < changed.inputs; k++)
        if (k != s->e->input && !changed.in[k].constant) {
            CheckPoint one = changed;
            if (mix(s, &one, k, 2)) changed = one, any = true;
        }
    if (!any) return false;
    size_t used = go_to(s, &changed, &there);
    const Entries found = entries_there(s);
    go_back(s, given, used);
    return same_factors(s, &found, 2, &moved) && 2 * moved > wrong;
}

/* Each element's gradient does not change with the other elements: a sum of terms of one element each. */
static bool by_itself(Suspect *s) {
    CheckPoint there, *given = s->run->point;
    for (int half = 0; half < 2; half++) {
        CheckPoint changed = *given;
        long moved = 0;
        if (!mix(s, &changed, s->e->input, half)) return false;
        size_t used = go_to(s, &changed, &there);
        const Entries found = entries_there(s);
        go_back(s, given, used);
        if (!same_factors(s, &found, half, &moved) || moved) return false;
    }
    return true;
}

/* Of one output alone, as a loss is: there an element has a single number, and nothing to compare it with. */
bool pattern_own_slope(Suspect *s) {
    enum { LEAST = 3 };
    char at[INDEX_TEXT];
    long wrong = 0, worst = -1;
    if (s->e->outputs != 1 || !can_be_changed(s)) return false;
    for (long j = 0; j < s->e->coordinates; j++) {
        if (s->e->state[j] != ENTRY_WRONG) continue;
        wrong++;
        double off = fabs(s->analytic[j] - s->numeric[j]);
        if (s->numeric[j] != 0 && (worst < 0 || off > fabs(s->analytic[worst] - s->numeric[worst])))
            worst = j;
    }
    if (wrong < LEAST || worst < 0) return false;
    bool factor = own_factor(s, wrong);
    if (!factor && !by_itself(s)) return false;
    const char *x = s->in->name, *place = s->shape.rank ? gradcheck_index_text(at, s->shape, worst) : "";
    double value = (double)s->in->value[worst], found = s->analytic[worst], need = s->numeric[worst];
    if (factor)
        return pattern_say(
            s,
            "each gradient is the right one times a factor of %s's element alone, whatever the "
            "other inputs are: a derivative of what is made of it is wrong or missing; for "
            "%s%s = %.6g it is %.6g times the right one",
            x, x, place, value, found / need);
    return pattern_say(
        s,
        "each element's own term has a wrong derivative, whatever the other elements are: for %s%s "
        "= %.6g it is %.6g, and should be %.6g",
        x, place, value, found, need);
}
