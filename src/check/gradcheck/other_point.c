#include "check/gradcheck/other_point.h"
#include "base/random.h"
#include "check/gradcheck/check_batch.h"
#include <math.h>

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

bool point_may_have(Suspect *s, int input, const real *gradient) {
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

Entries point_entries(Suspect *s) {
    Entries part = *s->e;
    size_t entries = (size_t)(part.cotangents * part.coordinates);
    part.entry = arena_alloc(s->arena, entries * sizeof *part.entry);
    part.state = arena_alloc(s->arena, (size_t)part.coordinates * sizeof *part.state);
    part.doubt = arena_alloc(s->arena, (size_t)part.coordinates * sizeof *part.doubt);
    CheckBatch b;
    check_batch_open_backward(&b, s->run, s->arena, part.outputs, part.cotangents);
    for (long q = 0, runs; q < part.cotangents; q += runs) {
        runs = check_batch_backward(&b, part.cotangent + q * part.outputs, part.cotangents - q, 0);
        const real *gradient = check_batch_gradient(&b, 0, part.input);
        for (long i = 0; i < runs; i++, gradient += b.gradients)
            for (long j = 0; j < part.coordinates; j++)
                part.entry[(q + i) * part.coordinates + j].analytic = (double)gradient[j];
    }
    check_entries(s->run, &part);
    return part;
}

/* Whether points can be made of this one by giving an input other values. */
static bool plain(const CheckPoint *p) {
    for (int i = 0; i < p->inputs; i++)
        if (p->in[i].repeats > 1 || p->in[i].same_as >= 0) return false;
    return true;
}

bool point_may_change(const Suspect *s) {
    const long most = 8;
    return plain(s->run->point) && s->e->coordinates * s->e->cotangents <= MOST_ENTRIES &&
           s->run->evaluations < most * s->run->planned;
}

size_t point_go(Suspect *s, const CheckPoint *changed, CheckPoint *there) {
    size_t used = s->run->point->memory ? s->run->point->memory->used : 0;
    point_lay_out(there, s->arena, changed, (CheckLayout[CHECK_INPUTS]){0});
    s->run->point = there;
    return used;
}
void point_back(Suspect *s, CheckPoint *given, size_t used) {
    s->run->point = given;
    if (given->memory) given->memory->used = used;
}

bool point_change(const Suspect *s, CheckPoint *p, int k, const real *value, double all) {
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

bool point_keeps_output(Suspect *s, bool ratios) {
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
    size_t used = point_go(s, &changed, &there);
    point_ready(&there, 0);
    const Tensor *there_y = check_run_forward(s->run);
    check_run_has_outputs(s->run, s->e->outputs);
    tensor_copy_out(there_y, y);
    point_back(s, given, used);
    for (long i = 0; i < s->e->outputs; i++) {
        off = fmax(off, fabs((double)y[i] - (double)s->y[i]));
        size = fmax(size, fabs((double)s->y[i]));
    }
    return off <= 1e-6 * size;
}
