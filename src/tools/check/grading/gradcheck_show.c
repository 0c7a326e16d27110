#include "check/grading/gradcheck_show.h"
#include "base/append.h"
#include "base/arena.h"
#include "base/clock.h"
#include "check/gradcheck/gradcheck.h"
#include <stdlib.h>
#include <string.h>

void show_add_to_totals(CheckTotals *t, const CaseReport *r) {
    if (strcmp(t->last_op, r->op) != 0) {
        t->operations++;
        snprintf(t->last_op, sizeof t->last_op, "%s", r->op);
    }
    t->cases++;
    t->passed += r->verdict == PASS;
    t->failed += r->verdict == FAIL;
    t->inconclusive += r->verdict == INCONCLUSIVE;
    for (int i = 0; i < r->inputs; i++) {
        const InputReport *in = &r->in[i];
        t->gradients++;
        t->elements += in->coordinates;
        t->kinks += in->kinks;
        t->flat += in->flat;
        if (in->verdict != PASS || !(in->error > t->worst)) continue;
        t->worst = in->error;
        snprintf(t->worst_at, sizeof t->worst_at, "%s/%s", r->op, r->name);
    }
}

static void overview_heading(FILE *out) {
    fprintf(out, "%-22s %6s %10s %9s %12s  %s\n", "operation", "cases", "gradients", "elements",
            "worst error", "verdict");
}

/* One row for an operation, from the totals of its reports. */
static void overview_row(FILE *out, const CheckTotals *t) {
    Verdict worst = t->inconclusive ? INCONCLUSIVE : PASS;
    if (t->failed) worst = FAIL;
    fprintf(out, "%-22s %6ld %10ld %9ld", t->last_op, t->cases, t->gradients, t->elements);
    gradcheck_number(out, 12, t->worst, t->passed > 0);
    fprintf(out, "  %s", gradcheck_verdict_text(worst));
    if (t->failed) fprintf(out, " (%ld of %ld)", t->failed, t->cases);
    gradcheck_remarks(out, t->kinks, t->flat, false, false);
}

/* The last lines: totals, and a line if cases are inconclusive. */
static void summary(FILE *out, const CheckTotals *t, double seconds) {
    fprintf(out, "\n%ld operation%s, %ld case%s, %ld gradient%s, %ld element%s in %.1f s\n",
            t->operations, PLURAL(t->operations), t->cases, PLURAL(t->cases), t->gradients,
            PLURAL(t->gradients), t->elements, PLURAL(t->elements), seconds);
    if (t->passed && t->worst > 0)
        fprintf(out, "worst relative error %.1e (%s)\n", t->worst, t->worst_at);
    fprintf(out, "%ld passed, %ld failed, %ld inconclusive\n", t->passed, t->failed,
            t->inconclusive);
    if (t->inconclusive)
        fprintf(out, "INCONCLUSIVE: %ld case%s could be neither proved nor refuted\n",
                t->inconclusive, PLURAL(t->inconclusive));
}

/* ---- Reports ---- */

void show_gap(const ShowOptions *how, FILE *out) {
    if (how->gap)
        fprintf(out,
                how->json ? "{\"not_confined\": \"%s\"}\n" : "not confined on this machine: %s\n",
                how->gap);
}

void show_begin(Show *show, const ShowOptions *how) {
    *show = (Show){.how = how, .start = clock_seconds()};
    if (!how->json && !how->apart) (how->overview ? overview_heading : gradcheck_heading)(stdout);
}

static bool is_wrong(const CaseReport *r) {
    bool wrong = false;
    for (int i = 0; i < r->inputs; i++) wrong |= r->in[i].wrong && !r->by_reference;
    return wrong;
}

/* Whether the other cases of the operation may change what is said of this one. */
static bool is_open(const Show *show, const CaseReport *r) {
    return gradcheck_is_open(r) || (show->how->json && is_wrong(r));
}

/* Prints and counts the reports that are not open, up to the first that is; at the end of an
 * operation all. */
static void settle(Show *show, bool at_end) {
    const ShowOptions *how = show->how;
    for (; show->settled < show->count; show->settled++) {
        const CaseReport *r = &show->report[show->settled];
        if (!at_end && is_open(show, r)) break;
        show_add_to_totals(&show->op, r);
        show_add_to_totals(&show->totals, r);
        if (how->apart) continue;
        if (how->json)
            show_json(stdout, NULL, r);
        else if (!how->overview)
            gradcheck_rows(stdout, r);
    }
    fflush(stdout);
}

static void add_report(Show *show, const CaseReport *r) {
    show->report = array_grown(show->report, show->count, &show->capacity, sizeof *show->report);
    show->report[show->count++] = *r;
}

/* Adds an inconclusive report to those of an operation whose cases have no elements. */
static void add_if_untested(Show *show) {
    CaseReport r = {.name = "coverage", .verdict = INCONCLUSIVE};
    bool runs = false;
    for (const CaseReport *one = show->report + show->first; one < show->report + show->count;
         one++)
        for (int i = 0; i < one->inputs; i++) {
            if (one->in[i].coordinates) return;
            runs = true;
        }
    REPORT_SET(r.op, show->report[show->first].op);
    REPORT_SET(r.trouble, "not tested: no element has a gradient");
    if (runs) add_report(show, &r);
}

void show_end_operation(Show *show) {
    if (show->first == show->count) return;
    if (show->how->own_cases) add_if_untested(show);
    gradcheck_agree(show->report + show->first, show->count - show->first);
    settle(show, true);
    if (show->how->overview && !show->how->json) overview_row(stdout, &show->op);
    show->op = (CheckTotals){0};
    show->first = show->count;
}

void show_report(void *context, const CaseReport *r) {
    Show *show = context;
    if (show->first < show->count && strcmp(show->report[show->first].op, r->op) != 0)
        show_end_operation(show);
    add_report(show, r);
    settle(show, false);
}

void show_free(Show *show) {
    free(show->report);
    show->report = NULL;
}

bool show_finish(Show *show, Error *e) {
    const ShowOptions *how = show->how;
    const CheckTotals *t = &show->totals;
    show_end_operation(show);
    double seconds = clock_seconds() - show->start;
    if (!how->json && !how->apart) {
        gradcheck_explain_all(stdout, show->report, show->count);
        summary(stdout, t, seconds);
    }
    if (!how->apart) show_gap(how, stdout);
    bool written = show_write(how, show->report, show->count, seconds, e);
    show_free(show);
    return written && show_conclude(t, e);
}

bool show_conclude(const CheckTotals *t, Error *e) {
    if (t->failed)
        return error_set(e, STATUS_NO, "%ld of %ld case%s failed", t->failed, t->cases,
                         PLURAL(t->cases));
    return !t->inconclusive ||
           error_set(e, STATUS_INCONCLUSIVE, "%ld of %ld cases are inconclusive", t->inconclusive,
                     t->cases);
}
