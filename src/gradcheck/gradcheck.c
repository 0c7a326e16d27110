#include "gradcheck/gradcheck.h"
#include "gradcheck/check_entries.h"
#include "gradcheck/check_properties.h"
#include "gradcheck/curve.h"
#include "gradcheck/diagnosis.h"
#include "gradcheck/numeric_derivative.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

/* The whole Jacobian is looked at up to so many outputs and so many entries; above, RANDOM cotangents. */
enum { WHOLE_OUTPUTS = 128, WHOLE_ENTRIES = 1 << 14, RANDOM = 3 };

/* A point that lies on a kink by chance is drawn again. */
enum { POINTS = 8 };

double gradcheck_tolerance(void) {
    return CHECK_TOLERANCE;
}

const char *gradcheck_verdict_text(Verdict v) {
    return (const char *[]){"PASS", "INCONCLUSIVE", "FAIL"}[v];
}

static const char *const doubt_text[] = {
    [DOUBT_NONE] = "",
    [DOUBT_FLAT] = "the gradient is below the noise floor: the output hardly changes, or not at all",
    [DOUBT_KINK] = "a kink is crossed at every usable step",
    [DOUBT_NOISE] = "the numeric derivative does not settle: the output is noisy, or not smooth",
};

static void copy_text(char *to, size_t size, const char *from) {
    snprintf(to, size, "%s", from);
}

/* Fills the analytic side of every input's entries: one backward a cotangent. */
static void run_backward_for_all(CheckRun *run, Entries *all, long cotangents, long outputs,
                                 const real *cotangent, Arena *arena) {
    const CheckPoint *point = run->point;
    for (long q = 0; q < cotangents; q++) {
        point_ready(run->point, 0);
        check_run_forward(run);
        check_run_backward(run, cotangent + q * outputs);
        for (int k = 0; k < point->inputs; k++) {
            Entry *row = all[k].entry + q * all[k].coordinates;
            const PointInput *in = &point->in[k];
            if (q == 0 && all[k].entry) {
                size_t bytes = (size_t)in->count * sizeof(real);
                run->first_grad[k] = memcpy(arena_alloc(arena, bytes), in->tensor.grad, bytes);
            }
            for (long i = 0; all[k].entry && i < in->count; i++)
                row[i % all[k].coordinates].analytic += (double)in->tensor.grad[i];
        }
    }
}

/* The gravest entry, and of several the one with the largest error; NaN is larger than all. */
static void report_worst(InputReport *r, const Entries *e) {
    const Entry *worst = NULL;
    double worst_error = 0;
    for (long q = 0; q < e->cotangents; q++)
        for (long j = 0; j < e->coordinates; j++) {
            const Entry *entry = &e->entry[q * e->coordinates + j];
            double error = isnan(entry->error) ? INFINITY : entry->state == ENTRY_FLAT ? 0 : entry->error;
            if (worst && entry->state < worst->state) continue;
            if (worst && entry->state == worst->state && error <= worst_error) continue;
            worst = entry;
            worst_error = error;
            r->element = j;
            r->output = e->whole && q ? q - 1 : -1;
        }
    if (!worst) return;
    r->analytic = worst->analytic;
    r->numeric = worst->numeric;
    r->estimate = worst->estimate;
    r->error = worst->state == ENTRY_FLAT ? 0 : worst->error;
    r->step = worst->step;
}

/* The first kink, at one output by itself where that is known. */
static void report_kink(InputReport *r, const Entries *e) {
    for (long j = 0; j < e->coordinates; j++)
        for (long q = e->cotangents - 1; q >= 0; q--) {
            const Entry *entry = &e->entry[q * e->coordinates + j];
            if (e->state[j] != ENTRY_KINK || entry->state != ENTRY_KINK) continue;
            r->kink = j;
            r->kink_output = e->whole && q ? q - 1 : -1;
            r->kink_below = fabs(entry->below) <= SWEEP_TRUST * entry->estimate ? 0 : entry->below;
            r->kink_above = fabs(entry->above) <= SWEEP_TRUST * entry->estimate ? 0 : entry->above;
            return;
        }
}

static void report_input(InputReport *r, const PointInput *in, const Entries *e) {
    snprintf(r->name, sizeof r->name, "d%s", in->name);
    r->shape = in->shape;
    r->coordinates = e->coordinates;
    for (long j = 0; j < e->coordinates; j++) {
        r->wrong += e->state[j] == ENTRY_WRONG;
        r->unclear += e->state[j] == ENTRY_UNCLEAR;
        r->kinks += e->state[j] == ENTRY_KINK;
        r->flat += e->state[j] == ENTRY_FLAT;
        if (e->doubt[j] > r->doubt) r->doubt = e->doubt[j];
    }
    r->verdict = r->wrong ? FAIL : r->unclear ? INCONCLUSIVE : PASS;
    report_worst(r, e);
    report_kink(r, e);
}

static void *zeros(Arena *arena, long count, size_t size) {
    return arena_alloc(arena, (size_t)count * size);
}

static void check_gradients(CheckRun *run, Arena *arena, uint64_t seed, CaseReport *report) {
    CheckPoint *point = run->point;
    Entries all[CHECK_INPUTS] = {0};
    point_ready(point, 0);
    Tensor *y = check_run_forward(run);
    long outputs = report->outputs = shape_count(y->shape), coordinates = 0;
    if (!tensor_wants_grad(y)) return;
    for (int k = 0; k < point->inputs; k++)
        if (point->in[k].same_as < 0 && !point->in[k].constant)
            coordinates += point->in[k].count / point->in[k].repeats;
    bool whole = outputs <= WHOLE_OUTPUTS && outputs * coordinates <= WHOLE_ENTRIES;
    long cotangents = whole ? 1 + outputs : RANDOM;
    real *cotangent = zeros(arena, cotangents * outputs, sizeof *cotangent);
    for (long q = 0; q < (whole ? 1 : RANDOM); q++)
        check_run_cotangent(cotangent + q * outputs, outputs, seed, (uint64_t)q);
    for (long i = 0; whole && i < outputs; i++) cotangent[(1 + i) * outputs + i] = 1;

    for (int k = 0; k < point->inputs; k++) {
        const PointInput *in = &point->in[k];
        if (in->same_as >= 0 || in->constant) continue;
        long own = in->count / in->repeats;
        all[k] = (Entries){k,
                           cotangents,
                           outputs,
                           own,
                           whole,
                           cotangent,
                           zeros(arena, cotangents * own, sizeof(Entry)),
                           zeros(arena, own, sizeof(EntryState)),
                           zeros(arena, own, sizeof(Doubt))};
    }
    run->first_dy = cotangent;
    run_backward_for_all(run, all, cotangents, outputs, cotangent, arena);
    report->whole_jacobian = whole;
    report->inputs = 0;
    for (int k = 0; k < point->inputs; k++) {
        if (!all[k].entry) continue;
        InputReport *r = &report->in[report->inputs++];
        *r = (InputReport){0};
        check_entries(run, &all[k], arena);
        report_input(r, &point->in[k], &all[k]);
        if (r->verdict > report->verdict) report->verdict = r->verdict;
    }
    for (int k = 0, i = 0; k < point->inputs; k++) {
        if (!all[k].entry) continue;
        InputReport *r = &report->in[i++];
        if (r->verdict == FAIL) gradcheck_diagnose(run, all, k, arena, r);
        if (r->verdict == INCONCLUSIVE) copy_text(r->reason, sizeof r->reason, doubt_text[r->doubt]);
    }
}

/* Only drawn points may move, and not those that lie on kinks on purpose. */
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
    static const char *const tells_little[] = {"any layout", "inside a graph", "passed twice", "", NULL};
    const char *pattern = "unknown";
    for (int i = r->inputs - 1; i >= 0; i--)
        if (r->in[i].verdict == FAIL && !is_among(r->in[i].pattern, (const char *const[]){"unknown", NULL}))
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
        copy_text(r->in[i].pattern, sizeof r->in[i].pattern, "unknown");
        copy_text(r->in[i].reason, sizeof r->in[i].reason, "no pattern is looked for: runs differ");
    }
}

static bool on_kink_by_chance(const CheckCase *c, const CaseReport *r) {
    if (c->kinks || r->verdict == FAIL) return false;
    for (int k = 0; k < CHECK_INPUTS && c->in[k].name; k++)
        if (c->in[k].values) return false;
    for (int k = 0; k < r->inputs; k++)
        if (r->in[k].kinks || r->in[k].doubt == DOUBT_KINK) return true;
    return false;
}

static void check_case(const char *op, const CheckCase *c, uint64_t seed, bool properties, bool curves,
                       CaseReport *report) {
    Arena arena = {0};
    Tape *tape = tape_new();
    CheckPoint point;
    CheckRun run = {.op = op, .c = c, .tape = tape, .point = &point};
    tape->guard = properties;
    *report = (CaseReport){0};
    copy_text(report->op, sizeof report->op, op);
    copy_text(report->name, sizeof report->name, c->name);
    report->kinks = c->kinks;
    for (int attempt = 0; attempt < POINTS; attempt++) {
        arena_reset(&arena);
        point_draw(&point, &arena, op, c, seed, attempt);
        report->verdict = PASS;
        check_gradients(&run, &arena, seed, report);
        if (!on_kink_by_chance(c, report)) break;
        report->moved++;
    }
    const char *broken =
        properties ? check_properties(&run, &arena, seed, report->trouble, sizeof report->trouble) : NULL;
    if (broken) {
        copy_text(report->property, sizeof report->property, broken);
        report->verdict = FAIL;
        if (strcmp(broken, "repeatable") == 0) forget_patterns(report);
    }
    if (report->verdict == FAIL) copy_text(report->diagnosis, sizeof report->diagnosis, diagnosis_of(report));
    for (int k = 0, i = 0; curves && k < point.inputs && i < report->inputs; k++)
        if (point.in[k].same_as < 0 && !point.in[k].constant)
            gradcheck_curve(&run, k, seed, &arena, &report->in[i++]);
    report->evaluations = run.evaluations;
    tape_free(tape);
    arena_free(&arena);
}

void gradcheck_case(const char *op, const CheckCase *c, uint64_t seed, CaseReport *report) {
    check_case(op, c, seed, true, false, report);
}

void gradcheck_differences(const char *op, const CheckCase *c, uint64_t seed, CaseReport *report) {
    check_case(op, c, seed, false, false, report);
}

void gradcheck_case_with_curves(const char *op, const CheckCase *c, uint64_t seed, CaseReport *report) {
    check_case(op, c, seed, true, true, report);
}
