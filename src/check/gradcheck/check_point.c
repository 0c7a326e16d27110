#include "check/gradcheck/check_point.h"
#include "base/random.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { GUARD = 16 }; /* reals on either side of a block */
static const real GRAD_GUARD = 12345;

/* FNV-1a: a number for a name, the same on every machine. Continues from `hash`. */
static uint64_t name_hash(uint64_t hash, const char *name) {
    for (; *name; name++) hash = (hash ^ (unsigned char)*name) * 0x100000001b3;
    return (hash ^ '/') * 0x100000001b3;
}

/* [0, 1), with as many digits as a double shows. */
static double uniform(uint64_t key, long i) {
    return (random_bits(key, 2 * (uint64_t)i) + random_bits(key, 2 * (uint64_t)i + 1) * 0x1p-32) * 0x1p-32;
}

/* Maps u of [0, 1) to the input's range, less the values nearer than `margin` to `away_from`. */
static double place(const CheckInput *how, double u) {
    double low = how->low, high = how->high;
    if (low == 0 && high == 0) low = -2, high = 2;
    double left = fmin(fmax(how->away_from - how->margin, low), high);
    double right = fmax(fmin(how->away_from + how->margin, high), low);
    if (how->margin == 0) left = right = low;
    double v = u * (left - low + high - right);
    return v < left - low ? low + v : right + (v - (left - low));
}

/* Draws an input's values. Distinct ones lie in the middle halves of equal cells of the range, one cell for each element,
 * in random order. */
static void draw(PointInput *in, const CheckInput *how, Arena *arena, uint64_t key) {
    long own = in->stored;
    long *cell = how->distinct ? arena_alloc(arena, (size_t)own * sizeof *cell) : NULL;
    for (long i = 0; cell && i < own; i++) {
        long j = random_below(key, 2 * (uint64_t)(own + i), i + 1);
        cell[i] = cell[j], cell[j] = i;
    }
    for (long i = 0; i < own; i++) {
        double u = uniform(key, i);
        if (cell) u = ((double)cell[i] + 0.25 + 0.5 * u) / (double)own;
        in->value[i] = (real)(how->values ? how->values[i] : place(how, u));
    }
    for (long i = own; i < in->count; i++) in->value[i] = in->value[i - own];
}

/* Allocates memory for `count` reals between two guards. */
static real *guarded(Arena *arena, CheckMemory *memory, long count) {
    size_t bytes = (size_t)(count + 2 * GUARD) * sizeof(real);
    if (!memory) return arena_alloc(arena, bytes);
    if (bytes > memory->size - memory->used)
        error_bug("an input of %ld elements is too large to be checked", count);
    real *block = (real *)(void *)(memory->at + memory->used);
    memory->used += (bytes + 63) / 64 * 64;
    return block;
}

real *point_element(const PointInput *in, long i) {
    const Tensor *x = &in->tensor;
    long at = 0;
    for (int axis = x->shape.rank - 1; axis >= 0; axis--) {
        at += i % x->shape.size[axis] * x->stride[axis];
        i /= x->shape.size[axis];
    }
    return x->data + at;
}

/* Fills an input's memory: values in their places, guards and gaps around them. */
static void put_values(PointInput *in) {
    for (long i = 0; i < in->block_count + 2 * GUARD; i++) in->block[i] = NAN;
    for (long i = 0; i < in->count; i++) *point_element(in, i) = in->value[i];
    for (long i = 0; !in->constant && i < in->count + 2 * GUARD; i++) in->grad_block[i] = GRAD_GUARD;
}

/* Gives the input memory in this layout and puts its values there. */
static void lay_out(PointInput *in, Arena *arena, CheckMemory *memory, CheckLayout layout) {
    Shape s = in->shape, stored = s;
    Tensor *x = &in->tensor;
    in->block_count = in->stored;
    if (layout == TRANSPOSED && s.rank >= 2) {
        stored.size[s.rank - 1] = s.size[s.rank - 2];
        stored.size[s.rank - 2] = s.size[s.rank - 1];
    }
    for (int i = 0; layout == STEPPED && i < s.rank; i++) {
        stored.size[i] = 2 * s.size[i];
        in->block_count *= 2;
    }
    in->block = guarded(arena, memory, in->block_count);
    *x = tensor_over(in->block + GUARD, stored);
    x->shape = s;
    for (int i = 0; layout == STEPPED && i < s.rank; i++) x->stride[i] *= 2;
    if (layout == TRANSPOSED && s.rank >= 2) {
        long kept = x->stride[s.rank - 1];
        x->stride[s.rank - 1] = x->stride[s.rank - 2];
        x->stride[s.rank - 2] = kept;
    }
    if (layout == REPEATED && s.rank) x->stride[0] = 0;
    if (!in->constant) in->grad_block = guarded(arena, memory, in->count);
    put_values(in);
}

/* Moves the smallest value to the lower end of its range and the largest to the upper: values that are
 * distinct stay so. False: the case gives no range. */
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

bool point_draw(CheckPoint *p, Arena *arena, CheckMemory *memory, const char *op, const CheckCase *c,
                uint64_t seed, PointKind kind, int attempt) {
    uint64_t stream = name_hash(name_hash(0xcbf29ce484222325, op), c->name);
    bool of_kind = kind == POINT_DRAWN;
    *p = (CheckPoint){.memory = memory};
    for (int i = 0; i < CHECK_INPUTS && c->in[i].name; i++) {
        const CheckInput *how = &c->in[i];
        PointInput *in = &p->in[p->inputs++];
        in->same_as = how->same_as - 1;
        if (in->same_as >= i)
            error_bug("%s, case %s: input %s is the same as a later one", op, c->name, how->name);
        if (in->same_as >= 0) {
            PointInput *first = &p->in[in->same_as];
            *in = *first;
            in->same_as = how->same_as - 1;
            p->x[i] = &first->tensor;
        } else {
            bool repeated = how->layout == REPEATED && how->shape.rank && how->shape.size[0];
            in->shape = how->shape;
            in->count = shape_count(how->shape);
            in->stored = repeated ? in->count / how->shape.size[0] : in->count;
            in->constant = how->constant;
            in->value = arena_alloc(arena, (size_t)in->count * sizeof *in->value);
            draw(in, how, arena, random_key(seed + ((uint64_t)attempt << 32), stream + (uint64_t)i));
            if (kind != POINT_DRAWN) of_kind |= move_to_ends(in, how, kind);
            lay_out(in, arena, memory, how->layout);
            p->x[i] = &in->tensor;
        }
        in->name = how->name;
    }
    return of_kind;
}

void point_copy(CheckPoint *to, const CheckPoint *from) {
    *to = *from;
    for (int i = 0; i < to->inputs; i++)
        to->x[i] = &to->in[to->in[i].same_as < 0 ? i : to->in[i].same_as].tensor;
}

void point_lay_out(CheckPoint *to, Arena *arena, const CheckPoint *from, CheckLayout layout) {
    point_copy(to, from);
    for (int i = 0; i < to->inputs; i++) {
        PointInput *in = &to->in[i];
        in->stored = in->count;
        if (in->same_as < 0) lay_out(in, arena, to->memory, layout);
    }
}

bool point_has_gradient(const CheckPoint *p, int i) {
    return p->in[i].same_as < 0 && !p->in[i].constant;
}

real point_jittered(const PointInput *in, long i, real relative, uint64_t key) {
    return in->value[i] * (1 + (random_bits(key, (uint64_t)i) & 1 ? relative : -relative));
}

void point_jitter(CheckPoint *p, int input, real relative, uint64_t key) {
    const PointInput *in = &p->in[input];
    for (long i = 0; in->same_as < 0 && i < in->stored; i++)
        *point_element(in, i) = point_jittered(in, i, relative, key);
}

void point_restore(CheckPoint *p, int input) {
    const PointInput *in = &p->in[input];
    for (long i = 0; i < in->stored; i++) *point_element(in, i) = in->value[i];
}

void point_reset_memory(CheckPoint *p) {
    for (int i = 0; i < p->inputs; i++)
        if (p->in[i].same_as < 0) put_values(&p->in[i]);
}

void point_ready(CheckPoint *p, real fill) {
    for (int i = 0; i < p->inputs; i++) {
        PointInput *in = &p->in[i];
        if (in->same_as >= 0) continue;
        Tensor *x = &in->tensor;
        x->maker = NULL;
        x->grad_state = in->constant ? GRAD_UNWANTED : isnan(fill) ? GRAD_FRESH : GRAD_SUM;
        x->grad = in->constant ? NULL : in->grad_block + GUARD;
        for (long j = 0; x->grad && j < in->count; j++) x->grad[j] = fill;
    }
}

static bool all_guard(const real *x) {
    for (long i = 0; i < GUARD; i++)
        if (x[i] != GRAD_GUARD) return false;
    return true;
}

/* Whether the memory is as lay_out left it. Bits are compared, so that NaN equals itself and -0 differs from 0. */
static bool as_laid_out(const PointInput *in) {
    long numbers = 0;
    for (long i = 0; i < in->block_count + 2 * GUARD; i++) numbers += !isnan(in->block[i]);
    for (long i = 0; i < in->count; i++) {
        if (memcmp(point_element(in, i), &in->value[i], sizeof(real)) != 0) return false;
        numbers -= !isnan(in->value[i]) && i < in->stored;
    }
    return numbers == 0;
}

const char *point_damage(const CheckPoint *p, char text[DAMAGE_TEXT]) {
    for (int i = 0; i < p->inputs; i++) {
        const PointInput *in = &p->in[i];
        if (in->same_as >= 0) continue;
        const real *grad = in->grad_block;
        if (!as_laid_out(in)) {
            snprintf(text, DAMAGE_TEXT, "input %s", in->name);
            return text;
        }
        if (grad && !(all_guard(grad) && all_guard(grad + GUARD + in->count))) {
            snprintf(text, DAMAGE_TEXT, "memory beside the gradient of %s", in->name);
            return text;
        }
    }
    return NULL;
}
