#include "grading/gradcheck_show.h"
#include "base/clock.h"
#include "report/progress.h"
#include <stdlib.h>
#include <string.h>

void show_start(Show *show, const ShowOptions *how) {
    *show = (Show){.how = how, .start = clock_seconds()};
    if (!how->json && !how->apart) (how->overview ? table_overview_heading : gradcheck_heading)(stdout);
}

static void keep(Show *show, const CaseReport *r) {
    if (show->count == show->capacity) {
        show->capacity = 2 * show->capacity + 64;
        show->report = realloc(show->report, (size_t)show->capacity * sizeof *show->report);
        if (!show->report) {
            fprintf(stderr, "out of memory: reports\n");
            exit(STATUS_NO_MEMORY);
        }
    }
    show->report[show->count++] = *r;
}

static void end_of_operation(Show *show) {
    if (show->how->overview && !show->how->json && show->op.cases)
        table_overview_row(stdout, show->op.last_op, &show->op);
    show->op = (CheckTotals){0};
}

void show_report(void *context, const CaseReport *r) {
    Show *show = context;
    if (show->op.cases && strcmp(show->op.last_op, r->op) != 0) end_of_operation(show);
    totals_add(&show->op, r);
    totals_add(&show->totals, r);
    keep(show, r);
    if (show->how->json)
        gradcheck_json_report(stdout, show->how->file, r);
    else if (!show->how->overview && !show->how->apart)
        gradcheck_rows(stdout, r);
    fflush(stdout);
}

void show_explanations(const Show *show) {
    if (show->how->json) return;
    gradcheck_explain_all(stdout, show->report, show->count);
    for (long i = 0; show->how->curve && i < show->count; i++) gradcheck_curves(stdout, &show->report[i]);
}

bool show_write(const ShowOptions *how, const CaseReport *r, long count, double seconds, Error *e) {
    const char *notes = how->notes ? how->notes : "";
    return (!how->junit || junit_write(how->junit, r, count, seconds, notes, e)) &&
           (!how->gradescope || gradescope_write(how->gradescope, r, count, seconds, notes, e));
}

void show_free(Show *show) {
    free(show->report);
    show->report = NULL;
}

bool show_finish(Show *show, Error *e) {
    const ShowOptions *how = show->how;
    const CheckTotals *t = &show->totals;
    end_of_operation(show);
    double seconds = clock_seconds() - show->start;
    if (!how->apart) show_explanations(show);
    if (!how->json && !how->apart) table_summary(stdout, t, seconds);
    bool written = show_write(how, show->report, show->count, seconds, e);
    show_free(show);
    Status status = totals_status(t);
    if (!written) return false;
    if (status == STATUS_NO)
        return error_set(e, status, "%ld of %ld case%s failed", t->failed, t->cases,
                         t->cases == 1 ? "" : "s");
    if (status == STATUS_INCONCLUSIVE)
        return error_set(e, status, "%ld of %ld cases are inconclusive", t->inconclusive, t->cases);
    return true;
}
