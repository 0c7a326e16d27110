#include "check/grading/model_pass.h"
#include "base/random.h"
#include "check/gradcheck/rounding.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDINGS = 16, TRIALS = 8 };

/* ε is float's: the last digits of float would be lost in a change of the last digits of double. */
static const double change = (double)FLT_EPSILON;

/* Takes the right values. */
static void take_values(Expected *x, Arena *arena, Shape s, const real *value) {
    *x = (Expected){.shape = s, .count = shape_count(s), .largest = rounding_largest(value, shape_count(s))};
    x->need = arena_alloc(arena, (size_t)x->count * sizeof *x->need);
    x->moved = arena_alloc(arena, (size_t)x->count * sizeof *x->moved);
    for (long i = 0; i < x->count; i++) x->need[i] = (double)value[i];
}

/* Takes the values of a trial. */
static void move_values(Expected *x, const real *value) {
    for (long i = 0; i < x->count; i++) rounding_note(&x->moved[i], x->need[i], (double)value[i]);
}

/* How far off an element may be in a file of single or double precision. */
static double allowed_of(const Expected *x, long i, bool single) {
    double unit = single ? (double)FLT_EPSILON : DBL_EPSILON;
    double smallest = single ? (double)FLT_MIN : DBL_MIN; /* subnormal numbers have fewer digits */
    double terms = x->largest + x->moved[i] / change + smallest / unit;
    return rounding_room(ROUNDINGS, unit, terms);
}

static void judge(const Expected *x, const double *found, bool single, InputReport *r) {
    double gravest = -1;
    r->coordinates = x->count;
    for (long i = 0; i < x->count; i++) {
        double need = x->need[i], allowed = allowed_of(x, i, single), off = fabs(found[i] - need);
        if (isinf(allowed)) continue;
        /* A wrong element is off by more than once what is allowed. */
        double gravity = isfinite(need) ? off / allowed : 1, size = fmax(fabs(need), fabs(found[i]));
        if (isnan(gravity)) gravity = INFINITY;
        r->wrong += gravity > 1, r->unclear += !isfinite(need);
        if (!(gravity > gravest)) continue;
        if (gravity <= 1) size = fmax(size, x->largest);
        gravest = gravity;
        r->element = i, r->output = -1;
        r->analytic = found[i], r->numeric = need, r->estimate = allowed;
        r->error = off == 0 ? 0 : off / size;
    }
    if (r->wrong) r->verdict = FAIL;
    if (r->wrong || !r->unclear) return;
    r->verdict = INCONCLUSIVE;
    REPORT_SET(r->reason, "the right value is not a finite number");
}

bool expected_judge(const Expected *x, const Array *a, InputReport *r, Error *e) {
    if (!array_expect_shape(a, x->shape, e)) return false;
    if (a->dtype != DTYPE_F32 && a->dtype != DTYPE_F64)
        return error_set(e, STATUS_BAD_DATA, "%s: found numbers of type %s, need F32 or F64", ARRAY_PLACE(a),
                         dtype_name(a->dtype));
    double *found = malloc((size_t)x->count * sizeof *found + 1);
    if (!found) error_no_memory("%ld numbers", x->count);
    array_to_double(a, found);
    /* float knows no better values */
    judge(x, found, a->dtype == DTYPE_F32 || sizeof(real) == sizeof(float), r);
    free(found);
    return true;
}

Expected *pass_expect(ModelPass *p, uint64_t seed, Error *e) {
    Parameters *w = &p->model->parameters;
    Expected *x = arena_alloc(&p->arena, (size_t)p->results * sizeof *x);
    real *kept = arena_alloc(&p->arena, (size_t)w->size * sizeof *kept);
    bool ok = true;
    memcpy(kept, w->value, (size_t)w->size * sizeof *kept);
    for (int i = 0; i < p->results; i++) {
        Shape s = {0};
        ok = ok && array_shape(&p->result[i], &s, e);
        if (ok) take_values(&x[i], &p->arena, s, p->result[i].bytes);
    }
    for (uint64_t trial = 0; ok && trial < TRIALS; trial++) {
        uint64_t key = random_key(seed, trial);
        for (long i = 0; i < w->size; i++) {
            double sign = random_bits(key, (uint64_t)i) & 1 ? 1 : -1;
            w->value[i] = kept[i] * (real)(1 + sign * change);
        }
        ok = pass_run(p, "with weights changed in their last digits", e);
        for (int i = 0; ok && i < p->results; i++) move_values(&x[i], p->result[i].bytes);
    }
    memcpy(w->value, kept, (size_t)w->size * sizeof *kept);
    for (long i = 0, V = p->model->config.vocab_size; i < x[RESULT_LOGITS].count; i++)
        if (batch_is_padding(p->batch, i / V)) x[RESULT_LOGITS].moved[i] = INFINITY;
    return ok && pass_run(p, "again", e) ? x : NULL;
}
