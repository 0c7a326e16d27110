#include "check/gradcheck/added_cases.h"
#include "base/random.h"
#include <math.h>
#include <stdio.h>

static bool is_drawn(const CheckInput *in) {
    return !in->values && !in->same_as;
}

/* An input whose values may be set: it is drawn, and no value in its range is excluded. */
static bool is_free(const CheckInput *in) {
    return is_drawn(in) && in->margin == 0 && !in->distinct && shape_count(in->shape) > 0;
}

/* [0, 1) for element i of input k. */
static double uniform(uint64_t key, int k, long i) {
    return (double)random_uniform(random_key(key, (uint64_t)k), (uint64_t)i);
}

bool added_resize(CheckCase *c, long from, long to) {
    bool any = false;
    for (int k = 0; k < CHECK_INPUTS && c->in[k].name; k++)
        for (int axis = 0; axis < c->in[k].shape.rank; axis++) {
            if (c->in[k].shape.size[axis] != from) continue;
            if (c->in[k].values) return false;
            c->in[k].shape.size[axis] = to;
            any = true;
        }
    return any;
}

/* ---- Values of an input ---- */

static bool has_default_range(const CheckInput *in) {
    return in->low == -2 && in->high == 2;
}

/* The value of an element, from its range and the key's random numbers. */
typedef double Value(const CheckInput *in, double by, uint64_t key, int k, long i);

static double drawn(const CheckInput *in, uint64_t key, int k, long i) {
    return in->low + (in->high - in->low) * uniform(key, k, i);
}

/* One of a few levels: most elements are equal to another one. */
static double level(const CheckInput *in, double by, uint64_t key, int k, long i) {
    double levels = floor(fmax(4, (double)shape_count(in->shape) / 3));
    (void)by;
    return in->low + (in->high - in->low) * (0.5 + floor(levels * uniform(key, k, i))) / levels;
}

static double zero(const CheckInput *in, double by, uint64_t key, int k, long i) {
    bool fits = in->low * in->high < 0 &&
                random_below(random_key(key, CHECK_INPUTS), (uint64_t)i, 3) == k % 3;
    (void)by;
    return fits ? 0 : drawn(in, key, k, i);
}

/* A number at which functions change, if it lies in the range or the range is the default. */
static double constant(const CheckInput *in, double by, uint64_t key, int k, long i) {
    static const double known[] = {1,  -1,  0, 0.5, 6, 2,    -0.5, 3,  20, -2,
                                   10, 0.1, 5, -3,  4, -0.1, 100,  -6, 8};
    enum { KNOWN = sizeof known / sizeof *known };
    double v = known[((long)by + i) % KNOWN];
    bool fits = has_default_range(in) || (in->low < v && v < in->high);
    return fits && random_below(random_key(key, (uint64_t)k), (uint64_t)i + 999, 4)
               ? v
               : drawn(in, key, k, i);
}

/* Half of the elements are about as large as `by`, unless a range is given. */
static double far_out(const CheckInput *in, double by, uint64_t key, int k, long i) {
    double size = by * (1.05 + 0.3 * uniform(key, k, i));
    if (i % 2 || !has_default_range(in)) return drawn(in, key, k, i);
    return i % 4 ? -size : size;
}

static bool set_values(CheckCase *c, Arena *arena, Value *value, double by) {
    const uint64_t key = 0x2E05;
    bool any = false;
    for (int k = 0; k < CHECK_INPUTS && c->in[k].name; k++) {
        CheckInput *in = &c->in[k];
        long count = shape_count(in->shape);
        if (!is_free(in)) continue;
        double *v = arena_alloc(arena, (size_t)count * sizeof *v);
        for (long i = 0; i < count; i++) v[i] = value(in, by, key, k, i);
        in->values = v;
        in->layout = CONTIGUOUS;
        any = true;
    }
    return any;
}

/* ---- Changes of a case ---- */

static bool scale(CheckCase *c, double by) {
    bool any = false;
    for (CheckInput *in = c->in; in < c->in + CHECK_INPUTS && in->name; in++) {
        if (in->values) continue;
        in->low *= by;
        in->high *= by;
        in->distinct = true; /* some values lie near the ends */
        any = true;
    }
    return any;
}

/* Negates an input whose range has one sign. If several have, one may have to be larger than
 * another. */
static bool negate(CheckCase *c) {
    int negated = 0;
    for (CheckInput *in = c->in; in < c->in + CHECK_INPUTS && in->name; in++) {
        double low = in->low;
        if (in->values || low * in->high < 0) continue;
        in->low = -in->high;
        in->high = -low;
        in->away_from = -in->away_from;
        negated++;
    }
    return negated == 1;
}

/* Whether each input has one element, and some are drawn: such a point lies on one side of each
 * of the function's conditions. */
static bool is_single(const CheckCase *c) {
    bool single = false;
    for (const CheckInput *in = c->in; in < c->in + CHECK_INPUTS && in->name; in++) {
        if (shape_count(in->shape) > 1) return false;
        single |= is_drawn(in);
    }
    return single;
}

/* ---- The table ---- */

typedef enum Change { DRAW, SIZES, SCALE, NEGATE, VALUES } Change;

enum { SMALLEST_SIZE = 2, LARGEST_SIZE = 12, RESIZES = LARGEST_SIZE - SMALLEST_SIZE + 1 };

static const struct {
    const char *how;
    Change change;
    int repeated;
    double by;
    Value *value;
    bool kinks, flat; /* of the case */
} kinds[] = {
    {"size %ld for %ld", SIZES, RESIZES, 1},
    {"size %ld for %ld", SIZES, RESIZES, 0},
    {"size %ld for %ld", SIZES, RESIZES, 11},
    {"draw %ld", DRAW, 8},
    {"larger values", SCALE, 1, 2, .flat = true},
    {"much larger values", SCALE, 1, 8, .flat = true},
    {"other sign", NEGATE, 1},
    {"values near 100", VALUES, 1, 100, far_out, .flat = true},
    {"values near 1000", VALUES, 1, 1000, far_out, .flat = true},
    {"zeros among the values", VALUES, 1, 0, zero, .kinks = true},
    {"equal values", VALUES, 1, 0, level, .kinks = true},
    {"values such as 1", VALUES, 1, 0, constant, .kinks = true, .flat = true},
    {"values such as 2", VALUES, 1, 4, constant, .kinks = true, .flat = true},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

const int added_cases = 3 * RESIZES + 8 + KINDS - 4;

bool added_case(const CheckCase *base, int which, Arena *arena, AddedCase *to) {
    int kind = 0;
    for (; which >= kinds[kind].repeated; kind++) which -= kinds[kind].repeated;
    long size = SMALLEST_SIZE + which, by = lround(kinds[kind].by);
    Change change = kinds[kind].change;
    *to = (AddedCase){.c = *base, .resized = -1, .beyond = change == SCALE || change == NEGATE};
    to->c.kinks |= kinds[kind].kinks;
    to->c.flat |= kinds[kind].flat;
    snprintf(to->how, sizeof to->how, kinds[kind].how, change == SIZES ? by : which + 2L, size);
    switch (change) {
    case DRAW: return is_single(base);
    case SIZES: to->resized = by; return size != by && added_resize(&to->c, size, by);
    case SCALE: return scale(&to->c, kinds[kind].by);
    case NEGATE: return negate(&to->c);
    case VALUES: return set_values(&to->c, arena, kinds[kind].value, kinds[kind].by);
    }
    return false;
}
