#include "check/gradcheck/gradcheck.h"
#include "check/gradcheck/check_gradients.h"
#include "check/gradcheck/check_host.h"
#include "check/gradcheck/check_properties.h"
#include "check/gradcheck/curve.h"
#include "check/gradcheck/rounding.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

/* A point that lies on a kink or on a plain by chance is drawn again. */
enum { POINTS = 8 };

double gradcheck_tolerance(void) {
    return CHECK_TOLERANCE;
}

const char *gradcheck_verdict_text(Verdict v) {
    return (const char *[]){"PASS", "INCONCLUSIVE", "FAIL"}[v];
}

static bool is_among(const char *word, const char *const words[]) {
    for (; *words; words++)
        if (strcmp(word, *words) == 0) return true;
    return false;
}

/* Some patterns break properties as well, and some broken properties look like patterns: what is nearer to
 * the mistake goes first. */
static const char *diagnosis_of(const CaseReport *r) {
    static const char *const tells_all[] = {"not a number", "no gradient", "upstream ignored",
                                            "strides ignored", NULL};
    static const char *const says_where[] = {"some values", NULL};
    static const char *const tells_little[] = {"any layout", "inside a graph", "passed twice", "", NULL};
    const char *pattern = "unknown";
    for (int vague = 1; vague >= 0; vague--) /* of several the first that is not */
        for (int i = r->inputs - 1; i >= 0; i--)
            if (r->in[i].verdict == FAIL && is_among(r->in[i].pattern, says_where) == vague &&
                !is_among(r->in[i].pattern, (const char *const[]){"unknown", NULL}))
                pattern = r->in[i].pattern;
    if (is_among(pattern, tells_all)) return pattern;
    if (!is_among(r->property, tells_little)) return r->property;
    return strcmp(pattern, "unknown") == 0 && r->property[0] ? r->property : pattern;
}

/* Where runs differ, what the errors of one look like says nothing. */
static void forget_patterns(CaseReport *r) {
    for (int i = 0; i < r->inputs; i++) {
        if (r->in[i].verdict != FAIL ||
            is_among(r->in[i].pattern, (const char *const[]){"not a number", NULL}))
            continue;
        r->in[i].explanations = 0;
        REPORT_SET(r->in[i].pattern, "unknown");
        REPORT_SET(r->in[i].reason, "no pattern is looked for: runs differ");
    }
}

/* On a kink, or where an input does not count at all (never the median of three, say). Only drawn points may move, and not those
 * that lie there on purpose. */
static bool is_unlucky(const CheckCase *c, const CaseReport *r) {
    if (r->verdict == FAIL) return false;
    for (int k = 0; k < CHECK_INPUTS && c->in[k].name; k++)
        if (c->in[k].values) return false;
    for (int k = 0; k < r->inputs; k++)
        if ((!c->kinks && (r->in[k].kinks || r->in[k].doubt == DOUBT_KINK)) ||
            (!c->flat && r->in[k].verdict == INCONCLUSIVE && r->in[k].doubt == DOUBT_FLAT))
            return true;
    return false;
}

/* Compares the output with that of the reference, at the point where the run is and with its last node at the place on the
 * tape that it has there. The text says how it differs. */
static void is_like(CheckRun *run, const CheckCase *reference, Arena *arena, char text[REPORT_TEXT]) {
    CheckRun other = {.op = run->op, .c = reference, .tape = tape_new()};
    CheckPoint point;
    CheckLayout layout[CHECK_INPUTS] = {0};
    CheckPoint given = *run->point;
    given.memory = NULL;
    point_lay_out(&point, arena, &given, layout);
    other.point = &point;
    point_ready(&point, 0);
    point_ready(run->point, 0);
    const Tensor *found = check_run_forward(run), *want = check_run_forward(&other);
    other.first = run->nodes - other.nodes;
    if (other.first) want = check_run_forward(&other);
    long count = shape_count(want->shape), wrong = -1;
    bool same = shape_equal(want->shape, found->shape);
    if (!same)
        snprintf(text, REPORT_TEXT, "its output is %s, and need be %s", shape_text(found->shape),
                 shape_text(want->shape));
    real *w = arena_alloc(arena, (size_t)(count + 1) * sizeof *w),
         *f = arena_alloc(arena, (size_t)(count + 1) * sizeof *f);
    if (same) tensor_copy_out(want, w), tensor_copy_out(found, f);
    double room = rounding_room(CHECK_SHARP / (double)REAL_EPSILON, (double)REAL_EPSILON,
                                fmax(1, rounding_largest(w, count)));
    if (same) wrong = rounding_differs(f, w, 0, count, room);
    char at[INDEX_TEXT];
    if (wrong >= 0)
        snprintf(text, REPORT_TEXT, "its forward is another function: y%s is %.9g, and has to be %.9g",
                 want->shape.rank ? gradcheck_index_text(at, want->shape, wrong) : "", (double)f[wrong],
                 (double)w[wrong]);
    tape_free(other.tape);
}

void gradcheck_conclude(CaseReport *r) {
    for (int k = 0; k < r->properties && !r->property[0]; k++) {
        if (!r->broken[k][0]) continue;
        REPORT_SET(r->property, check_property_name((Property)k));
        REPORT_SET(r->trouble, r->broken[k]);
        r->verdict = FAIL;
        if (k == PROPERTY_REPEATABLE) forget_patterns(r);
    }
    if (r->verdict == FAIL) REPORT_SET(r->diagnosis, diagnosis_of(r));
}

void gradcheck_case_with(const char *op, const CheckCase *c, const CheckOptions *how, CaseReport *report) {
    Arena arena = {0};
    CheckPoint point;
    CheckRun run = {.op = op,
                    .c = c,
                    .point = &point,
                    .host = how->host,
                    .calls = &check_host_calls,
                    .guard = !how->differences};
    CheckMemory *memory = how->host ? check_host_memory(how->host) : NULL;
    uint64_t seed = how->seed;
    if (!run.host) run.tape = tape_new();
    *report = (CaseReport){0};
    REPORT_SET(report->op, op);
    REPORT_SET(report->name, c->name);
    report->kinks = c->kinks;
    for (int attempt = 0; attempt < POINTS; attempt++) {
        arena_reset(&arena);
        if (memory) memory->used = 0;
        run.first_dy = NULL;
        point_draw(&point, &arena, memory, op, c, seed, attempt);
        report->verdict = PASS;
        check_gradients(&run, &arena, seed, report);
        if (!is_unlucky(c, report)) break;
        report->moved++;
    }
    report->judged = true;
    if (!how->differences) {
        if (how->reference) is_like(&run, how->reference, &arena, report->broken[PROPERTY_FORWARD]);
        if (report->inputs) check_properties(&run, how->fresh, &arena, seed, report); /* else: no gradient */
    }
    gradcheck_conclude(report);
    for (int k = 0, i = 0; how->curves && k < point.inputs && i < report->inputs; k++)
        if (point_has_gradient(&point, k)) gradcheck_curve(&run, k, seed, &arena, &report->in[i++]);
    report->evaluations = run.evaluations;
    tape_free(run.tape);
    arena_free(&arena);
}

void gradcheck_case(const char *op, const CheckCase *c, uint64_t seed, CaseReport *report) {
    gradcheck_case_with(op, c, &(CheckOptions){.seed = seed}, report);
}
