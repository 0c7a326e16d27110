#include "check/gradcheck/gradcheck.h"
#include "base/append.h"
#include "check/gradcheck/added_cases.h"
#include "check/gradcheck/check_gradients.h"
#include "check/gradcheck/numeric_derivative.h"
#include "check/gradcheck/rounding.h"
#include "check/gradcheck/tape_runner.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

/* Points drawn at most. A point that lies on a kink or in a flat region by chance is drawn
 * again. */
enum { POINTS = 8 };

/* Runs of the first job of a program. */
enum { FIRST_RUNS = 16 };

double gradcheck_tolerance(void) {
    return CHECK_TOLERANCE;
}

/* If runs differ, or backward is not linear, the pattern of one upstream gradient's errors says
 * nothing, unless they are as small as those of a float. */
static void forget_patterns(CaseReport *r, const char *why) {
    const double small = 1e-5;
    for (InputReport *in = r->in; in < r->in + r->inputs; in++) {
        if (in->verdict != FAIL || in->error < small) continue;
        in->explanations = 0;
        in->pattern = PATTERN_UNKNOWN;
        REPORT_SET(in->reason, why);
    }
}

static bool has_values(const CheckCase *c) {
    for (int k = 0; k < CHECK_INPUTS && c->in[k].name; k++)
        if (c->in[k].values) return true;
    return false;
}

/* Whether the point lies on a kink, or where an input has no effect (it is not the median of
 * three, say), and neither its values nor the case intend it. */
static bool is_unlucky(const CheckCase *c, const CaseReport *r) {
    if (r->verdict == FAIL || has_values(c)) return false;
    for (int k = 0; k < r->inputs; k++)
        if ((!c->kinks && (r->in[k].kinks || r->in[k].doubt == DOUBT_KINK)) ||
            (!c->flat && r->in[k].verdict == INCONCLUSIVE && r->in[k].doubt == DOUBT_FLAT))
            return true;
    return false;
}

/* Whether every gradient is rightly 0, as relu's is where all values are below 0. */
static bool is_level(const CheckCase *c, const CaseReport *r) {
    long sloped = 0;
    for (int k = 0; k < r->inputs; k++) sloped += r->in[k].sloped;
    return r->outputs && !sloped && !c->flat && r->verdict == PASS && !has_values(c);
}

void gradcheck_conclude(CaseReport *r) {
    Property first = report_broken(r);
    if (first == PROPERTIES) return;
    r->verdict = FAIL;
    REPORT_SET(r->trouble, r->broken[first]);
    if (first == PROPERTY_REPEATABLE) forget_patterns(r, "no pattern is looked for: runs differ");
    if (first == PROPERTY_LINEAR)
        forget_patterns(r, "backward is not linear in the upstream gradient: is it clipped?");
}

/* Runs both. The last node gets the same index on both tapes, so that dropout is the same. */
static Shape shape_of_both(CheckRun *run, CheckRun *reference, Shape *want) {
    Shape found = check_run_forward(run)->shape;
    reference->ways.first = 0;
    check_run_forward(reference);
    reference->ways.first = run->nodes - reference->nodes;
    if (reference->ways.first) check_run_forward(reference);
    *want = reference->y->shape;
    return found;
}

/* Compares the outputs of two runs at the same values, each element relative to its size and to
 * what rounding leaves of larger ones. The text says how they differ; "": they do not. *part gets
 * the part of the largest output that rounding may change in the first run's. Returns false if
 * their shapes differ. */
static bool check_forward(CheckRun *run, CheckRun *reference, Arena *arena, double *part,
                          char text[REPORT_TEXT]) {
    Shape want, found = shape_of_both(run, reference, &want);
    char at[INDEX_TEXT];
    *part = 0;
    if (!shape_equal(want, found)) {
        snprintf(text, REPORT_TEXT, "the output has shape %s, need %s", shape_text(found),
                 shape_text(want));
        return false;
    }
    Noise own, other;
    long count = shape_count(want);
    check_noise(&own, run, -1, arena);
    check_noise(&other, reference, -1, arena);
    double largest = rounding_largest(other.here, count), u = (double)REAL_EPSILON;
    for (long i = 0; i < count && largest > 0; i++)
        *part = fmin(fmax(*part, SWEEP_TRUST * own.change[i] / largest), 1e-2);
    for (long i = 0; i < count; i++) {
        double y = (double)own.here[i], need = (double)other.here[i];
        double terms = largest + fmax(own.change[i], other.change[i]) / u;
        double room = fmax(CHECK_SHARP * fabs(need), ROUNDINGS_OF_A_RUN * u * terms);
        room = fmax(room, *part * largest);
        if (rounding_same(y, need, room)) continue;
        bool to_a_float = fabs(y - need) <= 4 * (double)FLT_EPSILON * fabs(need);
        int digits = report_digits(y, need, 9);
        snprintf(text, REPORT_TEXT, "the forward is another function: y%s is %.*g, need %.*g%s",
                 gradcheck_index_text(at, want, i), digits, y, digits, need,
                 to_a_float ? ". They have the same 7 digits: is a number kept in float?" : "");
        break;
    }
    return true;
}

/* A case at its point: the run that computes gradients, and the run whose forward is
 * differentiated there. */
typedef struct Trial {
    const CheckOptions *how;
    Arena *arena;
    CheckPoint point;
    TapeRunner tape, reference_tape; /* where they run in this process */
    CheckRun run, reference;
    Gradients gradients;
} Trial;

/* Begins the runs of a case in a program, or (NULL) in this process on the tape. */
static CheckRun new_run(const char *op, const CheckCase *c, Trial *t, const CheckOptions *how,
                        void *program, TapeRunner *tape) {
    CheckRun run = {.op = op, .c = c, .point = &t->point, .runner = how->runner, .where = program};
    if (program) {
        run.at_once = FIRST_RUNS;
        return run;
    }
    *tape = tape_runner_new(op, c);
    run.runner = tape_runner_do;
    run.where = tape;
    return run;
}

/* Draws a point for both runs. False: there is none of this kind. */
static bool draw(Trial *t, PointKind kind, int attempt) {
    const CheckRun *run = &t->run;
    t->run.first_dy = NULL;
    return point_draw(&t->point, t->arena, run->op, run->c, t->how->seed, kind, attempt);
}

static void judge_gradients(Trial *t, bool doubted, CaseReport *report) {
    bool like = t->how->reference;
    report->verdict = PASS;
    t->gradients = (Gradients){.run = &t->run,
                               .differences = like ? &t->reference : &t->run,
                               .arena = t->arena,
                               .seed = t->how->seed,
                               .doubted = doubted,
                               .added = t->how->added};
    if (!like || check_forward(&t->run, &t->reference, t->arena, &t->gradients.rounding,
                               report->broken[PROPERTY_FORWARD])) {
        check_gradients(&t->gradients, report);
        return;
    }
    report->inputs = 0; /* an output of another shape has other gradients */
    report->verdict = FAIL;
}

/* Checks the ends of the ranges that the case gives: a backward may overflow there, and drawn
 * values seldom lie there. */
static void judge_ends(Trial *t, CaseReport *report) {
    CaseReport *ends = arena_alloc(t->arena, sizeof *ends);
    const Gradients gradients = t->gradients;
    const CheckPoint point = t->point;
    for (PointKind kind = POINT_ENDS; kind <= POINT_OTHER_ENDS; kind++) {
        *ends = (CaseReport){0};
        if (draw(t, kind, 0)) judge_gradients(t, true, ends);
        if (ends->verdict == FAIL && ends->inputs == report->inputs) {
            memcpy(report->in, ends->in, sizeof report->in);
            report->verdict = FAIL;
            report->at_ends = true;
            return;
        }
        t->gradients = gradients;
        t->point = point;
    }
}

/* Writes the smaller case for each input whose gradient is wrong in it too. Returns whether
 * there is one. */
static bool try_smaller(Trial *t, const char *how, CaseReport *report) {
    CaseReport *small = arena_alloc(t->arena, sizeof *small);
    bool any = false;
    judge_gradients(t, false, small);
    if (small->verdict == FAIL) gradcheck_diagnose(&t->gradients, small);
    if (!check_smooth_outputs(&t->run)) return false; /* forward does not take this size */
    if (small->inputs != report->inputs) return false;
    int i = 0;
    for (int k = 0; k < t->point.inputs; k++) {
        if (!t->gradients.element[k].entry) continue;
        InputReport *in = &report->in[i], *found = &small->in[i++];
        if (!in->wrong || !found->wrong) continue;
        if (!counterexample_write(&t->gradients, k, how, in)) continue;
        any = true;
        report_explain_better(in, found);
    }
    return any;
}

/* Looks for smaller cases in which the same gradients are wrong, by changing sizes to 2, small ones
 * first: a kernel stays smaller than its image. A size of 1 would hide mistakes in sums. This comes
 * last: a build that refuses a size may end its process. */
static void show_smaller(Trial *t, CaseReport *report) {
    CheckCase c = *t->run.c, small;
    char all[REPORT_TEXT] = "";
    for (long size = counterexample_next_size(&c, 2); size;
         size = counterexample_next_size(&c, size)) {
        size_t used = strlen(all);
        small = c;
        if (!added_resize(&small, size, 2)) continue;
        t->run.c = &small;
        draw(t, POINT_DRAWN, 0);
        text_append(all, sizeof all, "%ssize %ld changed to 2", used ? ", " : "", size);
        if (try_smaller(t, all, report))
            c = small;
        else
            all[used] = 0;
    }
}

static bool takes_gradient(const CheckCase *c) {
    bool any = false;
    for (int k = 0; k < CHECK_INPUTS && c->in[k].name; k++) any |= !c->in[k].constant;
    return any;
}

static void judge_drawn(Trial *t, int attempt, CaseReport *report) {
    arena_reset(t->arena);
    draw(t, POINT_DRAWN, attempt);
    judge_gradients(t, t->how->added, report);
}

/* Judges the first point that is not unlucky and shows a slope; the first that is level if none
 * does. Points that take many runs are few. */
static void judge_a_point(Trial *t, CaseReport *report) {
    const CheckCase *c = t->run.c;
    int level = -1, attempt = 0;
    bool lucky = false;
    for (; !lucky && attempt < POINTS && t->run.evaluations < CHECK_RUNS / 2; attempt++) {
        judge_drawn(t, attempt, report);
        bool unlucky = is_unlucky(c, report);
        lucky = !unlucky && !is_level(c, report);
        if (!unlucky && level < 0) level = attempt;
    }
    if (!lucky && level >= 0 && level + 1 < attempt) judge_drawn(t, level, report);
    report->moved = lucky || level < 0 ? attempt - 1 : level;
}

/* Judges before it explains: an explanation that takes too long must not cost a verdict. */
static void judge(Trial *t, CaseReport *report) {
    const CheckOptions *how = t->how;
    const CheckCase *c = t->run.c;
    Arena *arena = t->arena;
    judge_a_point(t, report);
    report->judged = true;
    report->properties = PROPERTY_FORWARD + 1;
    if (!how->differences && report->inputs && report->recorded)
        check_properties(&t->run, how, arena, report);
    gradcheck_conclude(report);
    if (report->verdict == PASS && !c->kinks && !how->added && !how->differences)
        judge_ends(t, report);
    t->run.explaining = true;
    if (report->inputs) {
        check_run_forward(&t->run);
        gradcheck_diagnose(&t->gradients, report);
    }
    gradcheck_conclude(report);
    if (how->program && !how->reference && report->verdict == FAIL && !how->added)
        show_smaller(t, report);
}

void gradcheck_case_with(const char *op, const CheckCase *c, const CheckOptions *how,
                         CaseReport *report) {
    Arena arena = {0};
    Trial t = {.how = how, .arena = &arena};
    t.run = new_run(op, c, &t, how, how->program, &t.tape);
    t.run.ways.guard = !how->differences;
    if (how->reference)
        t.reference =
            new_run(op, how->reference, &t, how, how->reference_program, &t.reference_tape);
    *report = (CaseReport){0};
    REPORT_SET(report->op, op);
    REPORT_SET(report->name, c->name);
    report->kinks = c->kinks;
    report->flat = c->flat;
    report->like = how->reference;
    bool any = takes_gradient(c), none = !c->in[0].name;
    if (any || none) judge(&t, report); /* a case without inputs may crash, which is said */
    if (!any && report->verdict != FAIL) {
        report->verdict = INCONCLUSIVE;
        REPORT_SET(report->trouble,
                   "no input takes a gradient: integers do not. Give real numbers, or a shape");
    }
    report->evaluations = t.run.evaluations;
    check_run_free(&t.run);
    check_run_free(&t.reference);
    if (t.tape.tape) tape_runner_free(&t.tape);
    if (t.reference_tape.tape) tape_runner_free(&t.reference_tape);
    arena_free(&arena);
}

void gradcheck_case(const char *op, const CheckCase *c, uint64_t seed, CaseReport *report) {
    WANT(op);
    WANT(c);
    WANT(report);
    gradcheck_case_with(op, c, &(CheckOptions){.seed = seed}, report);
}
