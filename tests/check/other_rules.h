/* The rules by which other projects judge gradients, as far as they are rules: one step, one or a few cotangents, one
 * tolerance. For the test that sets them beside gradcheck. */
#ifndef TESTS_OTHER_RULES_H
#define TESTS_OTHER_RULES_H

#include "base/random.h"
#include "check/gradcheck/check_run.h"
#include "check/gradcheck/tape_runner.h"
#include <math.h>
#include <string.h>

typedef struct Rule {
    const char *name;
    bool plain_sum;   /* the loss is Σ y: a cotangent of ones; else a random one */
    bool one_element; /* of each input, at random; else all */
    bool absolute;    /* compares |analytic| with |numeric| */
    bool mean;        /* judges the mean of |a - n| / |a + n| over an input */
    bool jacobian;    /* every entry of it, two runs compared, and a zero cotangent */
    double step;      /* of the central difference */
    double absolute_tolerance,
        relative_tolerance; /* |a - n| <= absolute + relative · |n|; of the mean: relative */
} Rule;

static const Rule rules[] = {
    {"sum", .plain_sum = true, .step = 1e-5, .absolute_tolerance = 1e-5, .relative_tolerance = 1e-5},
    {"one", .one_element = true, .step = 1e-5, .absolute_tolerance = 1e-5, .relative_tolerance = 1e-5},
    {"abs", .absolute = true, .step = 1e-5, .absolute_tolerance = 1e-5, .relative_tolerance = 1e-5},
    {"1e-2", .step = 1e-5, .absolute_tolerance = 1e-2, .relative_tolerance = 1e-2},
    {"mean", .mean = true, .step = 1e-5, .relative_tolerance = 1e-4},
    {"torch", .jacobian = true, .step = 1e-6, .absolute_tolerance = 1e-5, .relative_tolerance = 1e-3},
};
enum { RULES = sizeof rules / sizeof *rules };

/* One point of a case, and room for the outputs there. */
typedef struct Trial {
    CheckRun run;
    TapeRunner tape;
    CheckPoint point;
    Arena arena;
    long outputs;
    real *above, *below;
} Trial;

static bool has_gradient(const Trial *t, int k) {
    return t->point.in[k].same_as < 0 && !t->point.in[k].constant;
}

/* Gradients for one cotangent, each in memory of its own; NULL where none is wanted. */
static void gradients(Trial *t, const real *cotangent, double *gradient[CHECK_INPUTS]) {
    check_run_job(&t->run, (Job){.runs = 1, .dy = cotangent});
    for (int k = 0; k < t->point.inputs; k++) {
        const PointInput *in = &t->point.in[k];
        gradient[k] = NULL;
        if (!has_gradient(t, k)) continue;
        gradient[k] = arena_alloc(&t->arena, (size_t)in->stored * sizeof(double));
        const real *grad = t->run.result.grad + point_gradients_before(&t->point, k);
        for (long i = 0; i < in->count; i++) gradient[k][i % in->stored] += (double)grad[i];
    }
}

/* The outputs on both sides of a coordinate. */
static void both_sides(Trial *t, const PointInput *in, long j, double step) {
    real *x = &in->value[j], at = *x;
    *x = (real)((double)at + step);
    tensor_copy_out(check_run_forward(&t->run), t->above);
    *x = (real)((double)at - step);
    tensor_copy_out(check_run_forward(&t->run), t->below);
    *x = at;
}

static bool agree(const Rule *rule, double a, double n) {
    return fabs(a - n) <= rule->absolute_tolerance + rule->relative_tolerance * fabs(n);
}

/* Whether the rule finds nothing wrong with one input's gradient for one cotangent. */
static bool input_passes(const Rule *rule, Trial *t, int k, const double *gradient, const real *cotangent) {
    const PointInput *in = &t->point.in[k];
    long own = in->stored;
    long one = rule->one_element && own ? random_below(random_key(7, (uint64_t)k), 0, own) : 0;
    double mean = 0;
    for (long j = one; j < (rule->one_element && own ? one + 1 : own); j++) {
        double a = gradient[j], n = 0;
        both_sides(t, in, j, rule->step);
        for (long i = 0; i < t->outputs; i++)
            n += (double)cotangent[i] * ((double)t->above[i] - (double)t->below[i]) / (2 * rule->step);
        if (rule->absolute) a = fabs(a), n = fabs(n);
        mean += fabs(a - n) / fabs(a + n) / (double)own;
        if (!rule->mean && !agree(rule, a, n)) return false;
    }
    return !rule->mean || !(mean > rule->relative_tolerance); /* 0/0 is no number, and larger than nothing */
}

static bool jacobian_passes(const Rule *rule, Trial *t) {
    real *cotangent = arena_alloc(&t->arena, (size_t)t->outputs * sizeof *cotangent);
    double *(*row)[CHECK_INPUTS] = arena_alloc(&t->arena, (size_t)t->outputs * sizeof *row);
    double *again[CHECK_INPUTS];
    gradients(t, cotangent, again);
    for (int k = 0; k < t->point.inputs; k++)
        for (long j = 0; again[k] && j < t->point.in[k].stored; j++)
            if (again[k][j] != 0) return false;
    for (long i = 0; i < t->outputs; i++) {
        cotangent[i] = 1;
        gradients(t, cotangent, row[i]);
        gradients(t, cotangent, again);
        cotangent[i] = 0;
        for (int k = 0; k < t->point.inputs; k++)
            for (long j = 0; again[k] && j < t->point.in[k].stored; j++)
                if (again[k][j] != row[i][k][j]) return false;
    }
    for (int k = 0; k < t->point.inputs; k++)
        for (long j = 0; has_gradient(t, k) && j < t->point.in[k].stored; j++) {
            both_sides(t, &t->point.in[k], j, rule->step);
            for (long i = 0; i < t->outputs; i++)
                if (!agree(rule, row[i][k][j],
                           ((double)t->above[i] - (double)t->below[i]) / (2 * rule->step)))
                    return false;
        }
    return true;
}

/* Whether the rule finds nothing wrong with an operation's case. */
static bool rule_passes(const Rule *rule, const char *op, const CheckCase *check) {
    Trial t = {.tape = tape_runner_new(op, check)};
    t.run = (CheckRun){.op = op, .c = check, .point = &t.point, .runner = tape_runner_do, .where = &t.tape};
    point_draw(&t.point, &t.arena, op, check, 1, POINT_DRAWN, 0);
    t.outputs = shape_count(check_run_forward(&t.run)->shape);
    size_t bytes = (size_t)t.outputs * sizeof(real);
    t.above = arena_alloc(&t.arena, bytes);
    t.below = arena_alloc(&t.arena, bytes);
    bool passes = true;
    if (tensor_wants_grad(t.run.y) && rule->jacobian) {
        passes = jacobian_passes(rule, &t);
    } else if (tensor_wants_grad(t.run.y)) {
        real *cotangent = arena_alloc(&t.arena, bytes);
        double *gradient[CHECK_INPUTS];
        check_run_cotangent(cotangent, t.outputs, 1, 0);
        for (long i = 0; rule->plain_sum && i < t.outputs; i++) cotangent[i] = 1;
        gradients(&t, cotangent, gradient);
        for (int k = 0; k < t.point.inputs && passes; k++)
            passes = !gradient[k] || input_passes(rule, &t, k, gradient[k], cotangent);
    }
    check_run_free(&t.run);
    tape_runner_free(&t.tape);
    arena_free(&t.arena);
    return passes;
}

#endif
