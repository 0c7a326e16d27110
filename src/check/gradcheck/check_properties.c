#include "check/gradcheck/check_properties.h"
#include "base/random.h"
#include "check/gradcheck/check_batch.h"
#include "check/gradcheck/check_host.h"
#include "check/gradcheck/rounding.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

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
    CheckHost *fresh;                /* a process that has run nothing; NULL: there is none */
    uint64_t seed;
    Results want; /* of a run with the cotangent `one` */
    char *text;   /* how a property is broken, of REPORT_TEXT */
} Properties;

/* Copies the gradients, and the output y. */
static Results copy_results(Properties *p, const real *y) {
    const CheckPoint *point = p->run->point;
    Results r = {0};
    for (int i = 0; i < point->inputs; i++) {
        if (!point_has_gradient(point, i)) continue;
        size_t bytes = (size_t)point->in[i].count * sizeof(real);
        r.value[i] = memcpy(arena_alloc(p->arena, bytes), point->in[i].tensor.grad, bytes);
    }
    r.value[CHECK_INPUTS] = arena_alloc(p->arena, (size_t)p->outputs * sizeof(real));
    memcpy(r.value[CHECK_INPUTS], y, (size_t)p->outputs * sizeof(real));
    return r;
}

/* Runs forward and backward, with all gradients `fill` before. */
static Results run_at(Properties *p, const real *dy, real fill) {
    const CheckPoint *point = p->run->point;
    Results r = {0};
    CheckBatch b;
    check_batch_open_backward(&b, p->run, p->arena, p->outputs, 1);
    check_batch_backward(&b, dy, 1, fill);
    for (int i = 0; i < point->inputs; i++)
        if (point_has_gradient(point, i)) r.value[i] = check_batch_gradient(&b, 0, i);
    r.value[CHECK_INPUTS] = b.y;
    return r;
}

/* Runs forward; ends with an error if the number of outputs has changed. */
static const Tensor *forward(Properties *p) {
    const Tensor *y = check_run_forward(p->run);
    check_run_has_outputs(p->run, p->outputs);
    return y;
}

/* Writes "WHAT: gradient of x at [0,1] is 3, want 4" and returns false if found + offset is not want, to rounding or
 * (exactly) to the bit. */
static bool same(Properties *p, Results found, Results want, double offset, bool exactly, const char *what) {
    const CheckPoint *point = p->run->point;
    for (int k = 0; k <= CHECK_INPUTS; k++) {
        if (!found.value[k] || !want.value[k]) continue;
        bool output = k == CHECK_INPUTS;
        Shape s = output ? p->shape : point->in[k].shape;
        long count = shape_count(s);
        double add = output ? 0 : offset;
        double terms = rounding_largest(want.value[k], count) + fabs(add) + p->floor;
        double room = exactly ? 0 : rounding_room(ROUNDINGS_OF_A_RUN, (double)REAL_EPSILON, terms);
        for (long i = 0; i < count; i++) {
            double a = (double)found.value[k][i], b = (double)want.value[k][i] + add;
            char at[INDEX_TEXT];
            if (rounding_same(a, b, room)) continue;
            snprintf(p->text, REPORT_TEXT, "%s: %s%s%s%s is %.9g, want %.9g", what,
                     output ? "the output" : "gradient of ", output ? "" : point->in[k].name,
                     s.rank ? " at " : "", gradcheck_index_text(at, s, i), isnan(a) ? (double)NAN : a, b);
            return false;
        }
    }
    return true;
}

static bool broken(Properties *p, const char *what, const char *thing) {
    snprintf(p->text, REPORT_TEXT, "%s %s", what, thing);
    return false;
}

static bool zero_gives_zero(Properties *p) {
    Results none = run_at(p, p->zero, 0), want = none;
    for (int i = 0; i < p->run->point->inputs; i++)
        if (none.value[i])
            want.value[i] = arena_alloc(p->arena, (size_t)p->run->point->in[i].count * sizeof(real));
    return same(p, none, want, 0, true, "a zero upstream gradient must give a zero gradient");
}

static bool is_linear(Properties *p) {
    Results other = run_at(p, p->other, 0), both = run_at(p, p->both, 0);
    for (int i = 0; i < p->run->point->inputs; i++)
        for (long j = 0; p->want.value[i] && j < p->run->point->in[i].count; j++)
            other.value[i][j] += p->want.value[i][j];
    return same(p, both, other, 0, false, "backward must be linear in the upstream gradient");
}

static bool accumulates(Properties *p) {
    return same(p, run_at(p, p->one, 1), p->want, 1, false,
                "backward must add to the gradient, not overwrite it");
}

static bool stores_fresh(Properties *p) {
    return same(p, run_at(p, p->one, NAN), p->want, 0, false,
                "backward that stores fresh gradients must store every element");
}

/* Repeats the first backward of all, and a run after one with other values: no run may depend on an earlier
 * one. */
static bool is_repeatable(Properties *p) {
    CheckRun *run = p->run;
    Results first = {0};
    memcpy(first.value, run->first_grad, sizeof run->first_grad);
    if (!same(p, run_at(p, p->one, 0), p->want, 0, true, "two runs must give the same bits")) return false;
    if (run->first_dy &&
        !same(p, run_at(p, run->first_dy, 0), first, 0, true, "a later run must give the bits of the first"))
        return false;
    for (int i = 0; i < run->point->inputs; i++) point_jitter(run->point, i, (real)0.25, (uint64_t)i);
    run_at(p, p->other, 0);
    for (int i = 0; i < run->point->inputs; i++) point_restore(run->point, i);
    return same(p, run_at(p, p->one, 0), p->want, 0, true,
                "a run between with other values must change no bits");
}

/* Checks memory after forward and again after backward. */
static bool leaves_alone(Properties *p) {
    CheckRun *run = p->run;
    char damage[DAMAGE_TEXT];
    size_t bytes = (size_t)p->outputs * sizeof(real);
    real *before = arena_alloc(p->arena, bytes), *after = arena_alloc(p->arena, bytes);
    point_ready(run->point, 0);
    tensor_copy_out(forward(p), before);
    if (point_damage(run->point, damage)) return broken(p, "forward changed", damage);
    if (!run->untouched) return broken(p, "forward changed", "memory beside the output");
    check_run_backward(run, p->one);
    tensor_copy_out(run->y, after);
    if (point_damage(run->point, damage)) return broken(p, "backward changed", damage);
    if (!run->untouched) return broken(p, "backward changed", "memory beside the output or its gradient");
    if (memcmp(after, before, bytes) != 0) return broken(p, "backward changed", "the output");
    if (memcmp(run->y->grad, p->one, bytes) != 0)
        return broken(p, "backward changed", "the upstream gradient");
    return true;
}

/* Runs backward twice on one recording: the first must not use up what forward saved. */
static bool keeps_what_is_saved(Properties *p) {
    const real *y = p->want.value[CHECK_INPUTS];
    CheckRun *run = p->run;
    Results first = {0};
    point_ready(run->point, 0);
    forward(p);
    for (int time = 1; time <= 2; time++) {
        point_ready(run->point, 0);
        check_run_backward(run, p->one);
        if (time == 1) first = copy_results(p, y);
    }
    return same(p, copy_results(p, y), first, 0, true, "backward changed what forward saved");
}

/* ---- In context: memory layout, other operations, a second node of the same kind ---- */

/* The results at a point with the same values. Its last node has the same index on the tape, whatever nodes precede it. */
static Results results_at(Properties *p, CheckPoint *point, const char *stage) {
    CheckRun *run = p->run;
    CheckPoint *given = run->point;
    run->point = point, run->stage = stage;
    Results found = run_at(p, p->one, 0);
    run->first = p->nodes - run->nodes;
    if (run->first) found = run_at(p, p->one, 0);
    run->first = 0, run->point = given;
    return found;
}

static bool takes_any_layout(Properties *p) {
    static const char *const name[] = {
        [CONTIGUOUS] = "contiguous", [TRANSPOSED] = "transposed", [STEPPED] = "stepped"};
    CheckPoint other;
    for (CheckLayout layout = CONTIGUOUS; layout <= STEPPED; layout++) {
        char what[80];
        snprintf(what, sizeof what, "with its inputs laid out %s in memory", name[layout]);
        point_lay_out(&other, p->arena, p->run->point, layout);
        Results found = results_at(p, &other, "with its inputs laid out otherwise in memory");
        if (same(p, found, p->want, 0, false, what)) continue;
        size_t used = strlen(p->text);
        snprintf(p->text + used, REPORT_TEXT - used,
                 "; a tensor's strides say where its elements are: tensor_copy_out reads them in order");
        return false;
    }
    return true;
}

static bool works_inside_a_graph(Properties *p) {
    const char *what = "with inputs that other operations made";
    p->run->relayed = true, p->run->keep = false;
    Results found = results_at(p, p->run->point, what);
    p->run->relayed = false, p->run->keep = true;
    return same(p, found, p->want, 0, false, what);
}

static bool same_range(const CheckInput *a, const CheckInput *b) {
    return shape_equal(a->shape, b->shape) && a->low == b->low && a->high == b->high &&
           a->away_from == b->away_from && a->margin == b->margin && !a->values && !b->values;
}

/* Compares one tensor passed as inputs i and k with two tensors of the same values. */
static bool may_be_passed_twice(Properties *p, int i, int k) {
    const char *stage = "with one tensor passed twice";
    const CheckPoint *given = p->run->point;
    CheckPoint twice = *given;
    char what[80];
    twice.in[k].value = given->in[i].value;
    point_lay_out(&twice, p->arena, &twice, CONTIGUOUS);
    Results apart = results_at(p, &twice, stage);
    for (long j = 0; j < given->in[i].count; j++) apart.value[i][j] += apart.value[k][j];
    apart.value[k] = NULL;
    twice.in[k].same_as = i;
    twice.x[k] = twice.x[i];
    snprintf(what, sizeof what, "with one tensor passed as both %s and %s", given->in[i].name,
             given->in[k].name);
    return same(p, results_at(p, &twice, stage), apart, 0, false, what);
}

static bool sums_if_passed_twice(Properties *p) {
    const CheckPoint *point = p->run->point;
    for (int i = 0; i < point->inputs; i++)
        for (int k = i + 1; k < point->inputs; k++)
            if (point_has_gradient(point, i) && point_has_gradient(point, k) &&
                same_range(&p->run->c->in[i], &p->run->c->in[k]) && !may_be_passed_twice(p, i, k))
                return false;
    return true;
}

/* Records two nodes before either's backward: each must save its values in separate memory. */
static bool keeps_two_apart(Properties *p) {
    CheckPoint *given = p->run->point, other;
    const real *y = p->want.value[CHECK_INPUTS];
    p->run->stage = "with two of it on one tape";
    point_lay_out(&other, p->arena, given, CONTIGUOUS);
    for (int i = 0; i < other.inputs; i++) point_jitter(&other, i, (real)0.25, random_key(5, (uint64_t)i));
    p->run->point = &other, p->run->first = p->nodes;
    Results other_alone = run_at(p, p->other, 0);
    p->run->point = given, p->run->first = 0;
    point_ready(given, 0);
    point_ready(&other, 0);
    check_run_pair(p->run, &other, p->one, p->other);
    Results found = copy_results(p, y);
    p->run->point = &other;
    Results other_found = copy_results(p, other_alone.value[CHECK_INPUTS]);
    p->run->point = given;
    return same(p, found, p->want, 0, false,
                "with a second one on the tape, recorded before backward runs") &&
           same(p, other_found, other_alone, 0, false, "recorded on the tape after another one of its kind");
}

static bool is_used_once(const CheckPoint *point, int i) {
    for (int k = 0; k < point->inputs; k++)
        if (point->in[k].same_as == i) return false;
    return point_has_gradient(point, i);
}

/* Makes each input in turn a constant, whose grad is NULL. The gradients of the others must not change. */
static bool works_beside_constants(Properties *p) {
    const CheckPoint *given = p->run->point;
    int gradients = 0;
    for (int i = 0; i < given->inputs; i++) gradients += point_has_gradient(given, i);
    for (int i = 0; i < given->inputs && gradients > 1; i++) {
        CheckPoint other;
        char what[96];
        if (!is_used_once(given, i)) continue;
        point_copy(&other, given);
        other.in[i].constant = true;
        snprintf(what, sizeof what, "with %s a constant, which takes no gradient (grad is NULL)",
                 given->in[i].name);
        Results found = results_at(p, &other, what);
        p->run->stage = NULL;
        if (!same(p, found, p->want, 0, false, what)) return false;
    }
    return true;
}

/* Compares with a fresh process: state that an earlier run has left may be wrong for another point. */
static bool keeps_nothing(Properties *p) {
    enum { OTHER_POINT = 100 };
    CheckRun *run = p->run;
    CheckHost *host = run->host;
    CheckPoint *given = run->point, there, here;
    if (!p->fresh) return true;
    point_draw(&there, p->arena, check_host_memory(p->fresh), run->op, run->c, p->seed, POINT_DRAWN,
               OTHER_POINT);
    point_draw(&here, p->arena, given->memory, run->op, run->c, p->seed, POINT_DRAWN, OTHER_POINT);
    run->point = &there, run->host = p->fresh;
    Results want = run_at(p, p->one, 0);
    run->point = &here, run->host = host;
    Results found = run_at(p, p->one, 0);
    bool holds = same(p, found, want, 0, true,
                      "after other points, against a process that knows none (is something kept?)");
    run->point = given;
    return holds;
}

/* ---- All of them ---- */

static const struct {
    const char *name, *meaning;
    bool (*holds)(Properties *p);
} property[PROPERTIES] = {
#define PROPERTY(constant, name, meaning, function) {name, meaning, function},
#include "check/gradcheck/properties.def"
#undef PROPERTY
};

const char *check_property_name(Property which) {
    return property[which].name;
}

const char *check_property_meaning(Property which) {
    return property[which].meaning;
}

void check_properties(CheckRun *run, CheckHost *fresh, Arena *arena, uint64_t seed, CaseReport *report) {
    bool keep = run->keep;
    run->keep = true; /* so that output and cotangent can be looked at after backward */
    Properties p = {.run = run, .fresh = fresh, .arena = arena, .seed = seed};
    point_ready(run->point, 0);
    p.shape = check_run_forward(run)->shape;
    p.outputs = shape_count(p.shape);
    p.nodes = run->nodes;
    p.zero = arena_alloc(arena, 4 * (size_t)p.outputs * sizeof(real));
    p.one = p.zero + p.outputs, p.other = p.one + p.outputs, p.both = p.other + p.outputs;
    check_run_cotangent(p.one, p.outputs, seed, 1);
    check_run_cotangent(p.other, p.outputs, seed, 2);
    for (long i = 0; i < p.outputs; i++) p.both[i] = p.one[i] + p.other[i];
    p.want = run_at(&p, p.one, 0);
    p.floor =
        rounding_largest(p.one, p.outputs) * fmax(1, rounding_largest(p.want.value[CHECK_INPUTS], p.outputs));
    for (report->properties = PROPERTY_FORWARD + 1; report->properties < PROPERTIES; report->properties++) {
        p.text = report->broken[report->properties];
        point_reset_memory(run->point);
        property[report->properties].holds(&p);
        run->stage = NULL;
    }
    run->keep = keep;
}
