#include "gradcheck/check_properties.h"
#include "base/random.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

/* Sums in another order may differ by this, relative to the largest number of the tensor. */
#define ROUNDING (1e4 * (double)REAL_EPSILON)

/* Everything a run computes, copied: one array an input's gradient, and the output as the last. */
typedef struct Results {
    real *value[CHECK_INPUTS + 1];
} Results;

typedef struct Properties {
    CheckRun *run;
    Arena *arena;
    Shape shape; /* of the output */
    long outputs, nodes;
    double floor; /* what rounding leaves of a gradient that is 0 as the difference of large terms */
    real *zero, *one, *other, *both; /* cotangents; both = one + other */
    char *text;
    size_t size;
} Properties;

static bool has_gradient(const CheckPoint *p, int i) {
    return p->in[i].same_as < 0 && !p->in[i].constant;
}

static Results copy_results(Properties *p, const real *y) {
    const CheckPoint *point = p->run->point;
    Results r = {0};
    for (int i = 0; i < point->inputs; i++) {
        if (!has_gradient(point, i)) continue;
        size_t bytes = (size_t)point->in[i].count * sizeof(real);
        r.value[i] = memcpy(arena_alloc(p->arena, bytes), point->in[i].tensor.grad, bytes);
    }
    r.value[CHECK_INPUTS] = arena_alloc(p->arena, (size_t)p->outputs * sizeof(real));
    memcpy(r.value[CHECK_INPUTS], y, (size_t)p->outputs * sizeof(real));
    return r;
}

/* A run from the start, with all gradients `fill` before backward. */
static Results results(Properties *p, const real *dy, real fill) {
    real *y = arena_alloc(p->arena, (size_t)p->outputs * sizeof(real));
    point_ready(p->run->point, fill);
    tensor_copy_out(check_run_forward(p->run), y);
    check_run_backward(p->run, dy);
    return copy_results(p, y);
}

static double largest(const real *x, long count) {
    double size = 0;
    for (long i = 0; i < count; i++)
        if (isfinite(x[i])) size = fmax(size, fabs((double)x[i]));
    return size;
}

/* Writes "WHAT: gradient of x at [0,1] is 3, want 4" and returns false if found + offset is not want, to
 * rounding where tolerance is 1 and to the bit where it is 0. */
static bool same(Properties *p, Results found, Results want, double offset, double tolerance,
                 const char *what) {
    const CheckPoint *point = p->run->point;
    for (int k = 0; k <= CHECK_INPUTS; k++) {
        if (!found.value[k] || !want.value[k]) continue;
        bool output = k == CHECK_INPUTS;
        Shape s = output ? p->shape : point->in[k].shape;
        long count = shape_count(s);
        double add = output ? 0 : offset;
        double slack = tolerance * ROUNDING * (largest(want.value[k], count) + fabs(add) + p->floor);
        for (long i = 0; i < count; i++) {
            double a = (double)found.value[k][i], b = (double)want.value[k][i] + add;
            if (a == b || fabs(a - b) <= slack || (isnan(a) && isnan(b))) continue;
            char at[INDEX_TEXT];
            snprintf(p->text, p->size, "%s: %s%s at %s is %.9g, want %.9g", what,
                     output ? "the output" : "gradient of ", output ? "" : point->in[k].name,
                     gradcheck_index_text(at, s, i), isnan(a) ? (double)NAN : a, b);
            return false;
        }
    }
    return true;
}

static bool broken(Properties *p, const char *what, const char *thing) {
    snprintf(p->text, p->size, "%s %s", what, thing);
    return false;
}

static bool zero_gives_zero(Properties *p) {
    Results none = results(p, p->zero, 0), want = none;
    for (int i = 0; i < p->run->point->inputs; i++)
        if (none.value[i])
            want.value[i] = arena_alloc(p->arena, (size_t)p->run->point->in[i].count * sizeof(real));
    return same(p, none, want, 0, 0, "a zero upstream gradient must give a zero gradient");
}

static bool is_linear(Properties *p, Results one) {
    Results other = results(p, p->other, 0), both = results(p, p->both, 0);
    for (int i = 0; i < p->run->point->inputs; i++)
        for (long j = 0; one.value[i] && j < p->run->point->in[i].count; j++)
            other.value[i][j] += one.value[i][j];
    return same(p, both, other, 0, 1, "backward must be linear in the upstream gradient");
}

static bool accumulates(Properties *p, Results one) {
    return same(p, results(p, p->one, 1), one, 1, 1, "backward must add to the gradient, not overwrite it");
}

/* A gradient marked fresh holds anything; here NaN. */
static bool stores_fresh(Properties *p, Results one) {
    point_ready(p->run->point, NAN);
    for (int i = 0; i < p->run->point->inputs; i++)
        if (has_gradient(p->run->point, i)) p->run->point->in[i].tensor.grad_state = GRAD_FRESH;
    check_run_forward(p->run);
    check_run_backward(p->run, p->one);
    return same(p, copy_results(p, one.value[CHECK_INPUTS]), one, 0, 1,
                "backward that stores fresh gradients must store every element");
}

/* The first backward of all, and one after a run with other values: nothing may be left of an earlier run. */
static bool is_repeatable(Properties *p, Results one) {
    CheckRun *run = p->run;
    Results first = {0};
    memcpy(first.value, run->first_grad, sizeof run->first_grad);
    if (!same(p, results(p, p->one, 0), one, 0, 0, "two runs must give the same bits")) return false;
    if (run->first_dy &&
        !same(p, results(p, run->first_dy, 0), first, 0, 0, "a later run must give the bits of the first"))
        return false;
    for (int i = 0; i < run->point->inputs; i++)
        if (run->point->in[i].same_as < 0) point_jitter(run->point, i, (real)0.25, (uint64_t)i);
    results(p, p->other, 0);
    for (int i = 0; i < run->point->inputs; i++)
        if (run->point->in[i].same_as < 0) point_restore(run->point, i);
    return same(p, results(p, p->one, 0), one, 0, 0, "a run between with other values must change no bits");
}

/* What the tape made may be a view of an input, or the input itself. */
static bool beside_output_is_untouched(const CheckRun *run) {
    return !run->tape->guard || !run->y->maker || run->y->maker->op->view || tape_guards_hold(run->y);
}

/* One run from a point in good order, looked at after each half. */
static bool leaves_alone(Properties *p) {
    CheckRun *run = p->run;
    char damage[DAMAGE_TEXT];
    size_t bytes = (size_t)p->outputs * sizeof(real);
    real *before = arena_alloc(p->arena, bytes), *after = arena_alloc(p->arena, bytes);
    point_repair(run->point);
    point_ready(run->point, 0);
    tensor_copy_out(check_run_forward(run), before);
    if (point_damage(run->point, damage)) return broken(p, "forward changed", damage);
    if (!beside_output_is_untouched(run)) return broken(p, "forward changed", "memory beside the output");
    check_run_backward(run, p->one);
    tensor_copy_out(run->y, after);
    if (point_damage(run->point, damage)) return broken(p, "backward changed", damage);
    if (!beside_output_is_untouched(run))
        return broken(p, "backward changed", "memory beside the output or its gradient");
    if (memcmp(after, before, bytes) != 0) return broken(p, "backward changed", "the output");
    if (memcmp(run->y->grad, p->one, bytes) != 0)
        return broken(p, "backward changed", "the upstream gradient");
    return true;
}

/* Backward twice on one recording: it must not have used up what forward saved. */
static bool keeps_what_is_saved(Properties *p, Results one) {
    const real *y = one.value[CHECK_INPUTS];
    CheckRun *run = p->run;
    Results first = {0};
    point_ready(run->point, 0);
    check_run_forward(run);
    for (int time = 1; time <= 2; time++) {
        point_ready(run->point, 0);
        check_run_backward(run, p->one);
        if (time == 1) first = copy_results(p, y);
    }
    return same(p, copy_results(p, y), first, 0, 0, "backward changed what forward saved");
}

/* Runs the case so that the last node has the place on the tape that it has at the point, whatever other nodes this
 * needs. */
static Results results_in_place(Properties *p) {
    point_ready(p->run->point, 0);
    check_run_forward(p->run);
    p->run->first = p->nodes - p->run->tape->nodes;
    Results found = results(p, p->one, 0);
    p->run->first = 0;
    return found;
}

static bool takes_any_layout(Properties *p, Results one) {
    static const char *const name[] = {
        [CONTIGUOUS] = "contiguous", [TRANSPOSED] = "transposed", [STEPPED] = "stepped"};
    CheckPoint *given = p->run->point, other;
    for (CheckLayout layout = CONTIGUOUS; layout <= STEPPED; layout++) {
        char what[80];
        snprintf(what, sizeof what, "with its inputs laid out %s in memory", name[layout]);
        CheckLayout all[CHECK_INPUTS];
        for (int i = 0; i < CHECK_INPUTS; i++) all[i] = layout;
        point_lay_out(&other, p->arena, given, all);
        p->run->point = &other;
        bool same_results = same(p, results_in_place(p), one, 0, 1, what);
        p->run->point = given;
        if (!same_results) return false;
    }
    return true;
}

static bool works_inside_a_graph(Properties *p, Results one) {
    p->run->relayed = true;
    p->run->tape->keep = false;
    Results found = results_in_place(p);
    p->run->relayed = false;
    p->run->tape->keep = true;
    return same(p, found, one, 0, 1, "with inputs that other operations made");
}

static bool same_range(const CheckInput *a, const CheckInput *b) {
    return shape_equal(a->shape, b->shape) && a->low == b->low && a->high == b->high &&
           a->away_from == b->away_from && a->margin == b->margin && !a->values && !b->values;
}

/* One tensor as inputs i and k, against two tensors of the same values. */
static bool may_be_passed_twice(Properties *p, int i, int k) {
    CheckPoint *given = p->run->point, twice = *given;
    char what[80];
    CheckLayout layout[CHECK_INPUTS] = {0};
    twice.in[k].value = given->in[i].value;
    point_lay_out(&twice, p->arena, &twice, layout);
    p->run->point = &twice;
    Results apart = results(p, p->one, 0);
    for (long j = 0; j < given->in[i].count; j++) apart.value[i][j] += apart.value[k][j];
    apart.value[k] = NULL;
    twice.in[k].same_as = i;
    twice.x[k] = twice.x[i];
    snprintf(what, sizeof what, "with one tensor passed as both %s and %s", given->in[i].name,
             given->in[k].name);
    bool sums = same(p, results(p, p->one, 0), apart, 0, 1, what);
    p->run->point = given;
    return sums;
}

static bool pairs_may_be_one(Properties *p) {
    const CheckPoint *point = p->run->point;
    for (int i = 0; i < point->inputs; i++)
        for (int k = i + 1; k < point->inputs; k++)
            if (has_gradient(point, i) && has_gradient(point, k) &&
                same_range(&p->run->c->in[i], &p->run->c->in[k]) && !may_be_passed_twice(p, i, k))
                return false;
    return true;
}

const char *check_properties(CheckRun *run, Arena *arena, uint64_t seed, char *text, size_t size) {
    Properties p = {.run = run, .arena = arena, .text = text, .size = size};
    bool keep = run->tape->keep;
    run->tape->keep = true; /* so that output and cotangent can be looked at after backward */
    point_ready(run->point, 0);
    p.shape = check_run_forward(run)->shape;
    p.outputs = shape_count(p.shape);
    p.nodes = run->tape->nodes;
    size_t bytes = (size_t)p.outputs * sizeof(real);
    p.zero = arena_alloc(arena, bytes);
    p.one = arena_alloc(arena, bytes);
    p.other = arena_alloc(arena, bytes);
    p.both = arena_alloc(arena, bytes);
    check_run_cotangent(p.one, p.outputs, seed, 1);
    check_run_cotangent(p.other, p.outputs, seed, 2);
    for (long i = 0; i < p.outputs; i++) p.both[i] = p.one[i] + p.other[i];

    Results one = results(&p, p.one, 0);
    p.floor = largest(p.one, p.outputs) * fmax(1, largest(one.value[CHECK_INPUTS], p.outputs));
    const char *broken = !leaves_alone(&p)                ? "read-only"
                         : !is_repeatable(&p, one)        ? "repeatable"
                         : !keeps_what_is_saved(&p, one)  ? "read-only"
                         : !zero_gives_zero(&p)           ? "zero"
                         : !accumulates(&p, one)          ? "accumulates"
                         : !stores_fresh(&p, one)         ? "stores fresh"
                         : !is_linear(&p, one)            ? "linear"
                         : !takes_any_layout(&p, one)     ? "any layout"
                         : !works_inside_a_graph(&p, one) ? "inside a graph"
                         : !pairs_may_be_one(&p)          ? "passed twice"
                                                          : NULL;
    run->tape->keep = keep;
    return broken;
}
