#include "base/append.h"
#include "base/clock.h"
#include "base/random.h"
#include "base/utf8.h"
#include "check/gradcheck/check_gradients.h"
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
    const CheckOptions *how;
    Arena *arena;
    Shape shape; /* of the output */
    long outputs, nodes;
    double rounded; /* by what part equal results may differ; 0: not known yet */
    double
        floor; /* what rounding leaves of a gradient that is 0 as the difference of large terms */
    real *zero, *one, *other, *both; /* cotangents; both = one + other */
    Results want;                    /* of a run with the cotangent `one` */
    char *text, *repeatable;         /* how a property is broken, and that one, of REPORT_TEXT */
} Properties;

/* Copies the output of a run of the last job, and its gradients of the last job's backward
 * number `at`, counting every run of each. */
static Results results_of(Properties *p, long run, long at) {
    const CheckPoint *point = p->run->point;
    Results r = {{0}};
    for (int i = 0; i <= CHECK_INPUTS; i++) {
        bool output = i == CHECK_INPUTS;
        if (!output && (i >= point->inputs || !point_has_gradient(point, i))) continue;
        size_t bytes = (size_t)(output ? p->outputs : point->in[i].count) * sizeof(real);
        const real *from =
            output ? check_run_output(p->run, run) : check_run_gradient(p->run, at, i);
        r.value[i] = memcpy(arena_alloc(p->arena, bytes), from, bytes);
    }
    return r;
}

/* Runs forward and backward, with all gradients `fill` before. */
static Results run_at(Properties *p, const real *dy, real fill) {
    p->run->ways.fill = fill;
    check_run_ask(p->run);
    check_run_all(p->run, dy);
    return results_of(p, 0, 0);
}

/* The largest difference of two equal results, as a part of their size. ROUNDED: as the digits
 * of forward allow. */
static const double exactly = 0, most_nondeterminism = 1e-9, rounded = -1;

/* By what part results may differ that are equal but for rounding. */
static double part_of_rounding(Properties *p) {
    if (p->rounded > 0) return p->rounded;
    Digits d = check_digits(p->run, -1, p->arena);
    p->rounded = ROUNDINGS_OF_A_RUN * (double)REAL_EPSILON;
    if (d.everywhere) p->rounded = fmin(ROUNDINGS_OF_A_RUN * d.jump, 1e-2);
    return p->rounded;
}

/* Writes "WHAT: gradient of x at [0,1] is 3, want 4". */
static void say_difference(Properties *p, const char *what, int k, long i, double found,
                           double want) {
    bool output = k == CHECK_INPUTS;
    Shape s = output ? p->shape : p->run->point->in[k].shape;
    int digits = report_digits(found, want, 9);
    char name[REPORT_NAME] = "the output", at[INDEX_TEXT];
    if (!output) snprintf(name, sizeof name, "gradient of %.100s", p->run->point->in[k].name);
    snprintf(p->text, REPORT_TEXT, "%s: %s%s%s is %.*g, want %.*g", what, name,
             s.rank ? " at " : "", gradcheck_index_text(at, s, i), digits,
             isnan(found) ? (double)NAN : found, digits, want);
}

/* Says so and returns false if found + offset is not want, up to this part. */
static bool same(Properties *p, Results found, Results want, double offset, double part,
                 const char *what) {
    for (int k = 0; k <= CHECK_INPUTS; k++) {
        if (!found.value[k] || !want.value[k]) continue;
        bool output = k == CHECK_INPUTS;
        long count = output ? p->outputs : p->run->point->in[k].count;
        double add = output ? 0 : offset;
        double terms = rounding_largest(want.value[k], count) + fabs(add) + p->floor;
        for (long i = 0; i < count; i++) {
            double a = (double)found.value[k][i], b = (double)want.value[k][i] + add;
            if (rounding_same(a, b, fmax(part, 0) * terms)) continue;
            if (part == rounded && rounding_same(a, b, part_of_rounding(p) * terms)) continue;
            say_difference(p, what, k, i, a, b);
            double off = fabs(a - b) / terms;
            if (part == p->how->nondeterminism && off <= most_nondeterminism)
                text_append(p->text, REPORT_TEXT, ". --nondeterminism %.0e allows it",
                            pow(10, ceil(log10(off))));
            return false;
        }
    }
    return true;
}

static bool zero_gives_zero(Properties *p) {
    for (long i = 0; i < p->outputs; i++)
        if (!isfinite(p->want.value[CHECK_INPUTS][i])) return true; /* 0 times no number is none */
    Results none = run_at(p, p->zero, 0), want = none;
    for (int i = 0; i < p->run->point->inputs; i++)
        if (none.value[i])
            want.value[i] =
                arena_alloc(p->arena, (size_t)p->run->point->in[i].count * sizeof(real));
    return same(p, none, want, 0, exactly, "a zero upstream gradient must give a zero gradient");
}

static bool is_linear(Properties *p) {
    Results other = run_at(p, p->other, 0), both = run_at(p, p->both, 0);
    for (int i = 0; i < p->run->point->inputs; i++) {
        long count = p->want.value[i] ? p->run->point->in[i].count : 0;
        for (long j = 0; j < count; j++) other.value[i][j] += p->want.value[i][j];
    }
    return same(p, both, other, 0, rounded, "backward must be linear in the upstream gradient");
}

static bool accumulates(Properties *p) {
    return same(p, run_at(p, p->one, 1), p->want, 1, rounded,
                "backward must add to the gradient, not overwrite it");
}

static bool stores_fresh(Properties *p) {
    return same(p, run_at(p, p->one, NAN), p->want, 0, rounded,
                "backward that stores fresh gradients must store every element");
}

/* The point with one element changed as it is in another. */
static CheckPoint point_beside(Properties *p, const CheckPoint *given, const CheckPoint *other) {
    CheckPoint beside = *given;
    for (int k = 0; k < given->inputs; k++) {
        PointInput *in = &beside.in[k];
        size_t bytes = (size_t)in->count * sizeof *in->value;
        if (!in->count || !point_has_gradient(given, k)) continue;
        in->value = memcpy(arena_alloc(p->arena, bytes), in->value, bytes);
        for (long i = 0; i < in->count; i += in->stored) in->value[i] = other->in[k].value[0];
        break;
    }
    return beside;
}

/* Repeats the first backward of all, and a run after others with all other values and with one
 * other: no run may depend on an earlier one. */
static bool is_repeatable(Properties *p) {
    CheckRun *run = p->run;
    Results first = {0};
    memcpy(first.value, run->first_grad, sizeof run->first_grad);
    const char *same_bits =
        p->how->functions ? "two runs must give the same bits (does backward draw other random "
                            "numbers than forward?)"
                          : "two runs must give the same bits";
    if (!same(p, run_at(p, p->one, 0), p->want, 0, p->how->nondeterminism, same_bits)) return false;
    if (run->first_dy && !same(p, run_at(p, run->first_dy, 0), first, 0, p->how->nondeterminism,
                               "a later run must give the bits of the first"))
        return false;
    const CheckPoint *given = run->point, there = point_nearby(given, p->arena, (real)0.25, 0);
    const CheckPoint beside = point_beside(p, given, &there);
    run->point = &there;
    run_at(p, p->other, 0);
    run->point = &beside;
    run_at(p, p->other, 0);
    run->point = given;
    return same(p, run_at(p, p->one, 0), p->want, 0, p->how->nondeterminism,
                "a run between with other values must change no bits");
}

/* Looks at memory after forward and again after backward. */
static bool leaves_alone(Properties *p) {
    CheckRun *run = p->run;
    run->ways.watch = true;
    run->ways.fill = 0;
    check_run_job(run, (Job){.runs = 1, .dy = p->one});
    run->ways.watch = false;
    snprintf(p->text, REPORT_TEXT, "%s", run->result.damage);
    utf8_make_printable(p->text, "");
    return !p->text[0];
}

/* Runs backward twice on one recording: the first must not use up what forward saved. */
static bool keeps_what_is_saved(Properties *p) {
    p->run->ways.fill = 0;
    check_run_job(p->run, (Job){.runs = 1, .dy = p->one, .backwards = 2});
    return same(p, results_of(p, 0, 1), results_of(p, 0, 0), 0, p->how->nondeterminism,
                "backward changed what forward saved");
}

/* ---- In context: memory layout, other operations, a second node of the same kind ---- */

/* The results at a point with the same values. Its last node has the same index on the tape,
 * whatever nodes precede it. */
static Results results_at(Properties *p, const CheckPoint *point, const char *stage) {
    CheckRun *run = p->run;
    const CheckPoint *given = run->point;
    run->point = point;
    run->stage = stage;
    Results found = run_at(p, p->one, 0);
    run->ways.first = p->nodes - run->nodes;
    if (run->ways.first) found = run_at(p, p->one, 0);
    run->ways.first = 0;
    run->point = given;
    return found;
}

static bool takes_any_layout(Properties *p) {
    static const char *const name[] = {
        [CONTIGUOUS] = "contiguous", [TRANSPOSED] = "transposed", [STEPPED] = "stepped"};
    for (CheckLayout layout = CONTIGUOUS; layout <= STEPPED; layout++) {
        char what[80];
        snprintf(what, sizeof what, "with its inputs laid out %s in memory", name[layout]);
        CheckPoint other = point_lay_out(p->run->point, layout);
        Results found = results_at(p, &other, "with its inputs laid out otherwise in memory");
        if (same(p, found, p->want, 0, rounded, what)) continue;
        text_append(
            p->text, REPORT_TEXT,
            "; a tensor's strides say where its elements are: tensor_copy_out reads them in order");
        return false;
    }
    return true;
}

static bool works_inside_a_graph(Properties *p) {
    const char *what = "with inputs that other operations made";
    p->run->ways.relayed = true;
    p->run->ways.keep = false;
    Results found = results_at(p, p->run->point, what);
    p->run->ways.relayed = false;
    p->run->ways.keep = true;
    return same(p, found, p->want, 0, rounded, what);
}

static bool same_range(const CheckInput *a, const CheckInput *b) {
    return shape_equal(a->shape, b->shape) && a->low == b->low && a->high == b->high &&
           a->away_from == b->away_from && a->margin == b->margin && !a->values && !b->values;
}

/* Compares one tensor passed as inputs i and k with two tensors of the same values. */
static bool may_be_passed_twice(Properties *p, int i, int k) {
    const char *stage = "with one tensor passed twice";
    const CheckPoint *given = p->run->point;
    CheckPoint twice = point_lay_out(given, CONTIGUOUS);
    char what[80];
    twice.in[k].value = given->in[i].value;
    Results apart = results_at(p, &twice, stage);
    for (long j = 0; j < given->in[i].count; j++) apart.value[i][j] += apart.value[k][j];
    apart.value[k] = NULL;
    twice.in[k].same_as = i;
    snprintf(what, sizeof what, "with one tensor passed as both %s and %s", given->in[i].name,
             given->in[k].name);
    return same(p, results_at(p, &twice, stage), apart, 0, rounded, what);
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

/* Asks for a run with every value of another point. */
static void ask_at(CheckRun *run, const CheckPoint *other) {
    check_run_ask(run);
    for (int k = 0; k < other->inputs; k++)
        for (long i = 0; other->in[k].same_as < 0 && i < other->in[k].stored; i++)
            check_run_change(run, k, i, (double)other->in[k].value[i]);
}

/* Records two nodes before either's backward: each must save its values in separate memory. */
static bool keeps_two_apart(Properties *p) {
    CheckRun *run = p->run;
    const CheckPoint *given = run->point, other = point_nearby(given, p->arena, (real)0.25, 5);
    real *dy = arena_alloc(p->arena, 2 * (size_t)p->outputs * sizeof *dy);
    run->stage = "with two of it on one tape";
    run->point = &other;
    run->ways.first = p->nodes;
    Results other_alone = run_at(p, p->other, 0);
    run->point = given;
    run->ways.first = 0;
    memcpy(dy, p->one, (size_t)p->outputs * sizeof *dy);
    memcpy(dy + p->outputs, p->other, (size_t)p->outputs * sizeof *dy);
    check_run_ask(run);
    ask_at(run, &other);
    run->ways.together = true;
    run->ways.fill = 0;
    check_run_all(run, dy);
    run->ways.together = false;
    Results found = results_of(p, 0, 0), other_found = results_of(p, 1, 1);
    return same(p, found, p->want, 0, rounded,
                "with a second one on the tape, recorded before backward runs") &&
           same(p, other_found, other_alone, 0, rounded,
                "recorded on the tape after another one of its kind");
}

static bool is_used_once(const CheckPoint *point, int i) {
    for (int k = 0; k < point->inputs; k++)
        if (point->in[k].same_as == i) return false;
    return point_has_gradient(point, i);
}

/* Makes each input in turn a constant, whose grad is NULL. The gradients of the others must not
 * change. */
static bool works_beside_constants(Properties *p) {
    const CheckPoint *given = p->run->point;
    int gradients = 0;
    for (int i = 0; i < given->inputs; i++) gradients += point_has_gradient(given, i);
    if (gradients < 2) return true;
    for (int i = 0; i < given->inputs; i++) {
        CheckPoint other = *given;
        char what[96];
        if (!is_used_once(given, i)) continue;
        other.in[i].constant = true;
        snprintf(what, sizeof what, "with %s a constant, which takes no gradient (grad is NULL)",
                 given->in[i].name);
        Results found = results_at(p, &other, what);
        p->run->stage = NULL;
        if (!same(p, found, p->want, 0, rounded, what)) return false;
    }
    return true;
}

/* Compares with a fresh process: state that an earlier run has left may be wrong for another
 * point. */
static bool keeps_nothing(Properties *p) {
    enum { OTHER_POINT = 100 };
    CheckRun *run = p->run;
    const CheckPoint *given = run->point;
    void *where = run->where;
    CheckPoint there;
    if (!p->how->fresh) return true;
    point_draw(&there, p->arena, run->op, run->c, p->how->seed, POINT_DRAWN, OTHER_POINT);
    run->point = &there;
    run->where = p->how->fresh;
    Results want = run_at(p, p->one, 0);
    run->where = where;
    Results found = run_at(p, p->one, 0);
    run->point = given;
    return same(p, found, want, 0, p->how->nondeterminism,
                "after other points, against a process that knows none (is something kept?)");
}

/* Repeats a program's first backward: code that is right for some calls or for a moment is wrong
 * now. Functions share a process with all cases, so that a few repetitions do. */
static void must_stay_right(Properties *p) {
    enum { REPEATS = 64 };
    const double moment = p->how->functions ? 0 : 0.03, longest = p->how->functions ? 0.01 : 0.1;
    double began = clock_seconds(), seconds = 0;
    Results first = {0};
    memcpy(first.value, p->run->first_grad, sizeof p->run->first_grad);
    p->text = p->repeatable;
    for (int i = 0; i < REPEATS || seconds < moment; i++) {
        if (*p->text || seconds >= longest) return;
        same(p, run_at(p, p->run->first_dy, 0), first, 0, p->how->nondeterminism,
             "after all other runs the first must give the same bits again");
        seconds = clock_seconds() - began;
    }
}

/* ---- All of them ---- */

static bool (*const holds[PROPERTIES])(Properties *p) = {
#define PROPERTY(constant, name, meaning, functions, function) function,
#include "check/gradcheck/properties.def"
};

void check_properties(CheckRun *run, const CheckOptions *how, Arena *arena, CaseReport *report) {
    bool keep = run->ways.keep;
    run->ways.keep = true; /* so that output and cotangent can be looked at after backward */
    Properties p = {
        .repeatable = report->broken[PROPERTY_REPEATABLE], .run = run, .how = how, .arena = arena};
    p.shape = check_run_forward(run)->shape;
    p.outputs = shape_count(p.shape);
    p.nodes = run->nodes;
    p.zero = arena_alloc(arena, 4 * (size_t)p.outputs * sizeof(real));
    p.one = p.zero + p.outputs;
    p.other = p.one + p.outputs;
    p.both = p.other + p.outputs;
    check_run_cotangent(p.one, p.outputs, how->seed, 1);
    check_run_cotangent(p.other, p.outputs, how->seed, 2);
    for (long i = 0; i < p.outputs; i++) p.both[i] = p.one[i] + p.other[i];
    p.want = run_at(&p, p.one, 0);
    p.floor = rounding_largest(p.one, p.outputs) *
              fmax(1, rounding_largest(p.want.value[CHECK_INPUTS], p.outputs));
    for (report->properties = PROPERTY_FORWARD + 1; report->properties < PROPERTIES;
         report->properties++) {
        p.text = report->broken[report->properties];
        if (!how->functions || report_property[report->properties].of_functions)
            holds[report->properties](&p);
        run->stage = NULL;
    }
    if (how->program && run->first_dy) must_stay_right(&p);
    run->ways.keep = keep;
}
