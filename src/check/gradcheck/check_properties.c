#include "check/gradcheck/check_properties.h"
#include "check/gradcheck/check_batch.h"
#include "check/gradcheck/property.h"
#include "check/gradcheck/rounding.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

PropertyResults property_copy(Properties *p, const real *y) {
    const CheckPoint *point = p->run->point;
    PropertyResults r = {0};
    for (int i = 0; i < point->inputs; i++) {
        if (!point_has_gradient(point, i)) continue;
        size_t bytes = (size_t)point->in[i].count * sizeof(real);
        r.value[i] = memcpy(arena_alloc(p->arena, bytes), point->in[i].tensor.grad, bytes);
    }
    r.value[CHECK_INPUTS] = arena_alloc(p->arena, (size_t)p->outputs * sizeof(real));
    memcpy(r.value[CHECK_INPUTS], y, (size_t)p->outputs * sizeof(real));
    return r;
}

PropertyResults property_run(Properties *p, const real *dy, real fill) {
    const CheckPoint *point = p->run->point;
    PropertyResults r = {0};
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

bool property_same(Properties *p, PropertyResults found, PropertyResults want, double offset, bool exactly,
                   const char *what) {
    const CheckPoint *point = p->run->point;
    for (int k = 0; k <= CHECK_INPUTS; k++) {
        if (!found.value[k] || !want.value[k]) continue;
        bool output = k == CHECK_INPUTS;
        Shape s = output ? p->shape : point->in[k].shape;
        long count = shape_count(s);
        double add = output ? 0 : offset;
        double terms = rounding_largest(want.value[k], count) + fabs(add) + p->floor;
        double room = exactly ? 0 : rounding_room(ROUNDINGS_OF_A_RUN, (double)REAL_EPSILON, terms);
        long i = rounding_differs(found.value[k], want.value[k], add, count, room);
        if (i < 0) continue;
        double a = (double)found.value[k][i], b = (double)want.value[k][i] + add;
        char at[INDEX_TEXT];
        snprintf(p->text, REPORT_TEXT, "%s: %s%s at %s is %.9g, want %.9g", what,
                 output ? "the output" : "gradient of ", output ? "" : point->in[k].name,
                 gradcheck_index_text(at, s, i), isnan(a) ? (double)NAN : a, b);
        return false;
    }
    return true;
}

static bool broken(Properties *p, const char *what, const char *thing) {
    snprintf(p->text, REPORT_TEXT, "%s %s", what, thing);
    return false;
}

static bool zero_gives_zero(Properties *p, PropertyResults one) {
    (void)one;
    PropertyResults none = property_run(p, p->zero, 0), want = none;
    for (int i = 0; i < p->run->point->inputs; i++)
        if (none.value[i])
            want.value[i] = arena_alloc(p->arena, (size_t)p->run->point->in[i].count * sizeof(real));
    return property_same(p, none, want, 0, true, "a zero upstream gradient must give a zero gradient");
}

static bool is_linear(Properties *p, PropertyResults one) {
    PropertyResults other = property_run(p, p->other, 0), both = property_run(p, p->both, 0);
    for (int i = 0; i < p->run->point->inputs; i++)
        for (long j = 0; one.value[i] && j < p->run->point->in[i].count; j++)
            other.value[i][j] += one.value[i][j];
    return property_same(p, both, other, 0, false, "backward must be linear in the upstream gradient");
}

static bool accumulates(Properties *p, PropertyResults one) {
    return property_same(p, property_run(p, p->one, 1), one, 1, false,
                         "backward must add to the gradient, not overwrite it");
}

/* A fresh gradient may hold anything; here it holds NaN. */
static bool stores_fresh(Properties *p, PropertyResults one) {
    point_ready(p->run->point, NAN);
    for (int i = 0; i < p->run->point->inputs; i++)
        if (point_has_gradient(p->run->point, i)) p->run->point->in[i].tensor.grad_state = GRAD_FRESH;
    forward(p);
    check_run_backward(p->run, p->one);
    return property_same(p, property_copy(p, one.value[CHECK_INPUTS]), one, 0, false,
                         "backward that stores fresh gradients must store every element");
}

/* Repeats the first backward of all, and a run after one with other values: no run may depend on an earlier
 * one. */
static bool is_repeatable(Properties *p, PropertyResults one) {
    CheckRun *run = p->run;
    PropertyResults first = {0};
    memcpy(first.value, run->first_grad, sizeof run->first_grad);
    if (!property_same(p, property_run(p, p->one, 0), one, 0, true, "two runs must give the same bits"))
        return false;
    if (run->first_dy && !property_same(p, property_run(p, run->first_dy, 0), first, 0, true,
                                        "a later run must give the bits of the first"))
        return false;
    for (int i = 0; i < run->point->inputs; i++)
        if (run->point->in[i].same_as < 0) point_jitter(run->point, i, (real)0.25, (uint64_t)i);
    property_run(p, p->other, 0);
    for (int i = 0; i < run->point->inputs; i++)
        if (run->point->in[i].same_as < 0) point_restore(run->point, i);
    return property_same(p, property_run(p, p->one, 0), one, 0, true,
                         "a run between with other values must change no bits");
}

/* Checks memory after forward and again after backward. */
static bool leaves_alone(Properties *p, PropertyResults one) {
    CheckRun *run = p->run;
    char damage[DAMAGE_TEXT];
    size_t bytes = (size_t)p->outputs * sizeof(real);
    real *before = arena_alloc(p->arena, bytes), *after = arena_alloc(p->arena, bytes);
    (void)one;
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

/* Backward twice on one recording: it must not have used up what forward saved. */
static bool keeps_what_is_saved(Properties *p, PropertyResults one) {
    const real *y = one.value[CHECK_INPUTS];
    CheckRun *run = p->run;
    PropertyResults first = {0};
    point_ready(run->point, 0);
    forward(p);
    for (int time = 1; time <= 2; time++) {
        point_ready(run->point, 0);
        check_run_backward(run, p->one);
        if (time == 1) first = property_copy(p, y);
    }
    return property_same(p, property_copy(p, y), first, 0, true, "backward changed what forward saved");
}

static Properties begin(CheckRun *run, CheckHost *fresh, Arena *arena, uint64_t seed) {
    Properties p = {.run = run, .fresh = fresh, .arena = arena, .seed = seed};
    point_ready(run->point, 0);
    p.shape = check_run_forward(run)->shape;
    p.outputs = shape_count(p.shape);
    p.nodes = run->nodes;
    size_t bytes = (size_t)p.outputs * sizeof(real);
    p.zero = arena_alloc(arena, bytes);
    p.one = arena_alloc(arena, bytes);
    p.other = arena_alloc(arena, bytes);
    p.both = arena_alloc(arena, bytes);
    check_run_cotangent(p.one, p.outputs, seed, 1);
    check_run_cotangent(p.other, p.outputs, seed, 2);
    for (long i = 0; i < p.outputs; i++) p.both[i] = p.one[i] + p.other[i];
    return p;
}

static const struct {
    const char *name, *meaning;
    bool (*holds)(Properties *p, PropertyResults one);
} property[PROPERTIES] = {
    [PROPERTY_FORWARD] = {"forward", "the output is the operation's", NULL},
    [PROPERTY_READ_ONLY] = {"read-only", "inputs, output and upstream gradient stay as they are",
                            leaves_alone},
    [PROPERTY_REPEATABLE] = {"repeatable", "two runs give the same bits", is_repeatable},
    [PROPERTY_SAVED_VALUES] = {"saved values", "backward changes nothing that forward saved",
                               keeps_what_is_saved},
    [PROPERTY_ZERO] = {"zero", "an upstream gradient of 0 gives a gradient of 0", zero_gives_zero},
    [PROPERTY_ACCUMULATES] = {"accumulates", "backward adds to what a gradient holds", accumulates},
    [PROPERTY_STORES_FRESH] = {"stores fresh", "what a fresh gradient holds does not matter", stores_fresh},
    [PROPERTY_LINEAR] = {"linear", "backward is linear in the upstream gradient", is_linear},
    [PROPERTY_ANY_LAYOUT] = {"any layout", "inputs lie in memory as they like", property_any_layout},
    [PROPERTY_INSIDE_A_GRAPH] = {"inside a graph", "inputs are outputs of other operations",
                                 property_inside_a_graph},
    [PROPERTY_PASSED_TWICE] = {"passed twice", "one tensor as two inputs gets both gradients",
                               property_passed_twice},
    [PROPERTY_TWO_ON_A_TAPE] = {"two on a tape", "two recorded before either's backward",
                                property_two_on_a_tape},
    [PROPERTY_BESIDE_CONSTANTS] = {"beside constants", "each input in turn takes no gradient",
                                   property_beside_constants},
    [PROPERTY_ANY_PROCESS] = {"any process", "nothing is kept from one point for the next",
                              property_any_process},
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
    Properties p = begin(run, fresh, arena, seed);
    PropertyResults one = property_run(&p, p.one, 0);
    p.floor =
        rounding_largest(p.one, p.outputs) * fmax(1, rounding_largest(one.value[CHECK_INPUTS], p.outputs));
    for (report->properties = PROPERTY_FORWARD + 1; report->properties < PROPERTIES; report->properties++) {
        p.text = report->broken[report->properties];
        point_reset_memory(run->point);
        property[report->properties].holds(&p, one);
        run->stage = NULL;
    }
    run->keep = keep;
}
