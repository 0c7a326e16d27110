/* A check case at a point that floats hold, so that both builds compute the same, and the size of the
 * terms that its results are made of. */
#pragma once

#include "base/arena.h"
#include "base/pool.h"
#include "base/random.h"
#include "check/gradcheck/check_run.h"
#include "check/gradcheck/report.h"
#include "check/gradcheck/tape_runner.h"
#include <fenv.h>
#include <math.h>
#include <string.h>

enum { ULP_RESULTS = CHECK_INPUTS + 1 };

/* The results of a run: y, then the gradients of the inputs. */
typedef struct UlpResults {
    int parts;
    struct UlpResult {
        char name[REPORT_NAME];
        Shape shape;
        long count;
        int input; /* -1: y */
        real *value;
    } part[ULP_RESULTS];
} UlpResults;

/* A case at its point. */
typedef struct UlpCase {
    CheckPoint point;
    TapeRunner tape;
    Tensor *y; /* of the last forward */
    Arena *arena;
    real *dy;
    long outputs;
    bool backward; /* an input takes a gradient */
} UlpCase;

/* The drawn values become floats, the same in both builds. */
static void round_point(CheckPoint *p) {
    for (int k = 0; k < p->inputs; k++) {
        PointInput *in = &p->in[k];
        for (long i = 0; in->same_as < 0 && i < in->count; i++)
            in->value[i] = (real)(float)in->value[i];
    }
}

static void add_result(UlpResults *r, Arena *arena, const char *prefix, const char *name,
                       Shape shape, int input) {
    struct UlpResult *part = &r->part[r->parts++];
    *part = (struct UlpResult){.shape = shape, .count = shape_count(shape), .input = input};
    snprintf(part->name, sizeof part->name, "%s%s", prefix, name);
    part->value = arena_alloc(arena, (size_t)(part->count + 1) * sizeof *part->value);
}

static UlpResults ulp_results(const UlpCase *s) {
    UlpResults r = {0};
    add_result(&r, s->arena, "", "y", s->y->shape, -1);
    for (int k = 0; s->backward && k < s->point.inputs; k++)
        if (point_has_gradient(&s->point, k))
            add_result(&r, s->arena, "d", s->point.in[k].name, s->point.in[k].shape, k);
    return r;
}

static void ulp_forward(UlpCase *s) {
    tape_runner_ready(&s->tape, &s->point, 0);
    s->y = tape_runner_record(&s->tape, &s->point, &(JobWays){0});
}

static void ulp_case_open(UlpCase *s, Arena *arena, const char *op, const CheckCase *c,
                          uint64_t seed) {
    *s = (UlpCase){.tape = tape_runner_new(op, c), .arena = arena};
    point_draw(&s->point, arena, op, c, seed, POINT_DRAWN, 0);
    round_point(&s->point);
    tape_runner_lay_out(&s->tape, &s->point);
    ulp_forward(s);
    s->outputs = shape_count(s->y->shape);
    s->backward = tensor_wants_grad(s->y);
    s->dy = arena_alloc(arena, (size_t)(s->outputs + 1) * sizeof *s->dy);
    check_run_cotangent(s->dy, s->outputs, seed, 0);
}

static void ulp_take_gradients(const UlpCase *s, UlpResults *r) {
    for (int i = 1; i < r->parts; i++) {
        struct UlpResult *part = &r->part[i];
        memcpy(part->value, s->tape.in[0][part->input].tensor.grad,
               (size_t)part->count * sizeof(real));
    }
}

static void ulp_compute(UlpCase *s, UlpResults *r) {
    ulp_forward(s);
    tensor_copy_out(s->y, r->part[0].value);
    if (s->backward) tape_runner_back_from(&s->tape, s->y, s->dy);
    ulp_take_gradients(s, r);
}

/* ---- Term sizes ----
 *
 * The double build shows in three ways how large the terms of a result F are. The largest counts, beside F
 * itself:
 *
 *     Σ_k |F(z_k (1 + δ)) - F| / δ       the response to each input, dy among them: Σ |terms| for a
 *                                        sum, 2 Σ |a b| for a matrix product, |x y| for y = e^x
 *     |F rounded up, down, … - F| / ε    the response to its own roundings, where terms always cancel
 *     |F(saved, z (1 + δ)) - F| / δ      the response of backward where saved values and inputs disagree */

typedef struct TermSizes {
    double *of[ULP_RESULTS]; /* of each result's elements, in the case's arena */
} TermSizes;

enum { TRIALS = 8 };
static const double delta = 0x1p-16;

static double change_of(const UlpResults *a, const UlpResults *b, int p, long i) {
    double change = fabs((double)a->part[p].value[i] - (double)b->part[p].value[i]);
    return isfinite(change) ? change : 0;
}

/* The response to a change by δ, as a part of δ. One that does not shrink with δ, to δ/16, is a jump (a
 * winner that changes, a sign): that says nothing of the size of terms. */
static double response(const UlpResults *base, const UlpResults *changed, const UlpResults *less,
                       int p, long i) {
    double change = change_of(base, changed, p, i);
    return change_of(base, less, p, i) <= change / 4 ? change / delta : 0;
}

/* Each number of an input changed by a part of itself, one after the other. */
static void measure_number(UlpCase *s, const UlpResults *base, TermSizes *sizes, real *number,
                           UlpResults changed[2]) {
    real kept = *number;
    *number = (real)((double)kept * (1 + delta));
    ulp_compute(s, &changed[0]);
    *number = (real)((double)kept * (1 + delta / 16));
    ulp_compute(s, &changed[1]);
    *number = kept;
    for (int p = 0; p < base->parts; p++)
        for (long i = 0; i < base->part[p].count; i++)
            sizes->of[p][i] += response(base, &changed[0], &changed[1], p, i);
}

static void measure_inputs(UlpCase *s, const UlpResults *base, TermSizes *sizes) {
    UlpResults changed[2] = {ulp_results(s), ulp_results(s)};
    for (int k = 0; k < s->point.inputs; k++) {
        const PointInput *in = &s->point.in[k];
        for (long i = 0; in->same_as < 0 && i < in->stored; i++)
            measure_number(s, base, sizes, tape_runner_element(&s->tape, &s->point, k, i), changed);
    }
    for (long i = 0; s->backward && i < s->outputs; i++)
        measure_number(s, base, sizes, &s->dy[i], changed);
}

/* Every input changed at random, up or down, by up to `most` of itself, and at least half of that: so that
 * it has all digits of a double. */
static void jitter(UlpCase *s, uint64_t trial, double most) {
    for (int k = 0; k < s->point.inputs; k++) {
        const PointInput *in = &s->point.in[k];
        uint64_t key = random_key(trial, (uint64_t)k);
        for (long i = 0; in->same_as < 0 && i < in->stored; i++) {
            double change = most * (0.5 + random_bits(key, (uint64_t)(2 * i)) * 0x1p-33);
            if (random_bits(key, (uint64_t)(2 * i + 1)) & 1) change = -change;
            *tape_runner_element(&s->tape, &s->point, k, i) =
                (real)((double)in->value[i] * (1 + change));
        }
    }
}

static void restore(UlpCase *s) {
    for (int k = 0; k < s->point.inputs; k++) {
        const PointInput *in = &s->point.in[k];
        for (long i = 0; in->same_as < 0 && i < in->stored; i++)
            *tape_runner_element(&s->tape, &s->point, k, i) = in->value[i];
    }
}

/* The effect of the twin's own roundings, in units of its precision. It runs with all roundings up, down
 * and towards zero, and at nearby points, because products of floats are exact in double. */
static void measure_rounding(UlpCase *s, TermSizes *sizes) {
    static const int modes[] = {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
    UlpResults nearest = ulp_results(s), turned = ulp_results(s);
    for (uint64_t trial = 0; trial < TRIALS; trial++) {
        jitter(s, trial, delta);
        ulp_compute(s, &nearest);
        for (size_t m = 0; m < sizeof modes / sizeof *modes; m++) {
            fesetround(modes[m]);
            ulp_compute(s, &turned);
            fesetround(FE_TONEAREST);
            for (int p = 0; p < nearest.parts; p++)
                for (long i = 0; i < nearest.part[p].count; i++)
                    sizes->of[p][i] = fmax(sizes->of[p][i], change_of(&nearest, &turned, p, i) /
                                                                (double)REAL_EPSILON);
        }
    }
    restore(s);
}

/* Forward saves rounded values. They agree with the inputs only up to rounding, so backward runs with
 * inputs that have changed since forward. */
static void backward_in_disagreement(UlpCase *s, const UlpResults *base, UlpResults *r,
                                     uint64_t trial, double most) {
    ulp_forward(s);
    jitter(s, trial, most);
    tape_runner_back_from(&s->tape, s->y, s->dy);
    ulp_take_gradients(s, r);
    memcpy(r->part[0].value, base->part[0].value, (size_t)base->part[0].count * sizeof(real));
    restore(s);
}

static void measure_disagreement(UlpCase *s, const UlpResults *base, TermSizes *sizes) {
    UlpResults changed = ulp_results(s), less = ulp_results(s);
    for (uint64_t trial = TRIALS; s->backward && trial < 2 * TRIALS; trial++) {
        backward_in_disagreement(s, base, &changed, trial, delta);
        backward_in_disagreement(s, base, &less, trial, delta / 16);
        for (int p = 1; p < base->parts; p++)
            for (long i = 0; i < base->part[p].count; i++)
                sizes->of[p][i] = fmax(sizes->of[p][i], response(base, &changed, &less, p, i));
    }
}

/* Leaves the pool with one thread: the direction of rounding belongs to a thread. */
static TermSizes term_sizes(UlpCase *s, const UlpResults *base) {
    TermSizes sizes = {0};
    pool_set_threads(1);
    for (int p = 0; p < base->parts; p++) {
        const struct UlpResult *part = &base->part[p];
        sizes.of[p] = arena_alloc(s->arena, (size_t)(part->count + 1) * sizeof(double));
    }
    measure_inputs(s, base, &sizes);
    measure_rounding(s, &sizes);
    measure_disagreement(s, base, &sizes);
    for (int p = 0; p < base->parts; p++)
        for (long i = 0; i < base->part[p].count; i++)
            sizes.of[p][i] = fmax(sizes.of[p][i], fabs((double)base->part[p].value[i]));
    return sizes;
}
