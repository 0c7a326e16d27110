#include "check/gradcheck/check_point.h"
#include "base/random.h"
#include <math.h>
#include <string.h>

/* FNV-1a: a number for a name, the same on every machine. Continues from `hash`. */
static uint64_t name_hash(uint64_t hash, const char *name) {
    for (; *name; name++) hash = (hash ^ (unsigned char)*name) * 0x100000001b3;
    return (hash ^ '/') * 0x100000001b3;
}

/* [0, 1), with as many digits as a double shows. */
static double uniform(uint64_t key, long i) {
    return (random_bits(key, 2 * (uint64_t)i) + random_bits(key, 2 * (uint64_t)i + 1) * 0x1p-32) *
           0x1p-32;
}

/* Maps u of [0, 1) to the input's range, less the values nearer than `margin` to `away_from`. */
static double place(const CheckInput *how, double u) {
    double low = how->low, high = how->high;
    if (low == 0 && high == 0) {
        low = -2;
        high = 2;
    }
    double left = fmin(fmax(how->away_from - how->margin, low), high);
    double right = fmax(fmin(how->away_from + how->margin, high), low);
    if (how->margin == 0) left = right = low;
    double v = u * (left - low + high - right);
    return v < left - low ? low + v : right + (v - (left - low));
}

/* Draws an input's values. Distinct ones lie in the middle halves of equal cells of the range,
 * one cell for each element, in random order. */
static void draw(PointInput *in, const CheckInput *how, Arena *arena, uint64_t key) {
    long own = in->stored;
    long *cell = how->distinct ? arena_alloc(arena, (size_t)own * sizeof *cell) : NULL;
    for (long i = 0; i < (cell ? own : 0); i++) {
        long j = random_below(key, 2 * (uint64_t)(own + i), i + 1);
        cell[i] = cell[j];
        cell[j] = i;
    }
    for (long i = 0; i < own; i++) {
        double u = uniform(key, i);
        if (cell) u = ((double)cell[i] + 0.25 + 0.5 * u) / (double)own;
        in->value[i] = (real)(how->values ? how->values[i] : place(how, u));
    }
    for (long i = own; i < in->count; i++) in->value[i] = in->value[i - own];
}

/* Moves the smallest value to the lower end of its range and the largest to the upper: values
 * that are distinct stay so. False: the case gives no range. */
static bool move_to_ends(PointInput *in, const CheckInput *how, PointKind kind) {
    long own = in->stored, low = 0, high = 0;
    if (how->values || (how->low == 0 && how->high == 0) || !own || how->constant) return false;
    for (long i = 1; i < own; i++) {
        if (in->value[i] < in->value[low]) low = i;
        if (in->value[i] > in->value[high]) high = i;
    }
    in->value[low] = (real)place(how, 0);
    if (own > 1 || kind == POINT_ENDS) in->value[high] = (real)place(how, 1);
    for (long i = own; i < in->count; i++) in->value[i] = in->value[i - own];
    return own == 1 || kind == POINT_ENDS;
}

bool point_draw(CheckPoint *p, Arena *arena, const char *op, const CheckCase *c, uint64_t seed,
                PointKind kind, int attempt) {
    uint64_t stream = name_hash(name_hash(0xcbf29ce484222325, op), c->name);
    bool of_kind = kind == POINT_DRAWN;
    *p = (CheckPoint){0};
    for (int i = 0; i < CHECK_INPUTS && c->in[i].name; i++) {
        const CheckInput *how = &c->in[i];
        PointInput *in = &p->in[p->inputs++];
        int same = how->same_as - 1;
        if (same >= i)
            error_bug("%s, case %s: input %s is the same as a later one", op, c->name, how->name);
        if (same >= 0) {
            *in = p->in[same];
        } else {
            bool repeated = how->layout == REPEATED && how->shape.rank && how->shape.size[0];
            in->shape = how->shape;
            in->count = shape_count(how->shape);
            in->stored = repeated ? in->count / how->shape.size[0] : in->count;
            in->constant = how->constant;
            in->layout = how->layout;
            in->value = arena_alloc(arena, (size_t)in->count * sizeof *in->value);
            draw(in, how, arena,
                 random_key(seed + ((uint64_t)attempt << 32), stream + (uint64_t)i));
            if (kind != POINT_DRAWN) of_kind |= move_to_ends(in, how, kind);
        }
        in->same_as = same;
        in->name = how->name;
    }
    return of_kind;
}

CheckPoint point_lay_out(const CheckPoint *from, CheckLayout layout) {
    CheckPoint to = *from;
    for (int i = 0; i < to.inputs; i++) {
        to.in[i].stored = to.in[i].count;
        to.in[i].layout = layout;
    }
    return to;
}

bool point_has_gradient(const CheckPoint *p, int i) {
    return p->in[i].same_as < 0 && !p->in[i].constant;
}

long point_gradients_before(const CheckPoint *p, int input) {
    long sum = 0;
    for (int i = 0; i < input; i++)
        if (point_has_gradient(p, i)) sum += p->in[i].count;
    return sum;
}

real point_jittered(const PointInput *in, long i, real relative, uint64_t key) {
    return in->value[i] * (1 + (random_bits(key, (uint64_t)i) & 1 ? relative : -relative));
}

CheckPoint point_nearby(const CheckPoint *p, Arena *arena, real relative, uint64_t key) {
    CheckPoint there = *p;
    for (int k = 0; k < p->inputs; k++) {
        PointInput *in = &there.in[k];
        if (in->same_as >= 0) {
            in->value = there.in[in->same_as].value;
            continue;
        }
        in->value = arena_alloc(arena, (size_t)in->count * sizeof *in->value);
        for (long i = 0; i < in->stored; i++)
            in->value[i] = point_jittered(&p->in[k], i, relative, key + (uint64_t)k);
        for (long i = in->stored; i < in->count; i++) in->value[i] = in->value[i - in->stored];
    }
    return there;
}
