/* What gradcheck found in all, on the terminal. */
#include "grading/gradcheck_report.h"
#include <string.h>

void totals_add(CheckTotals *t, const CaseReport *r) {
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

Status totals_status(const CheckTotals *t) {
    return t->failed ? STATUS_NO : t->inconclusive ? STATUS_INCONCLUSIVE : STATUS_DONE;
}

void table_overview_heading(FILE *out) {
    fprintf(out, "%-22s %6s %10s %9s %12s  %s\n", "operation", "cases", "gradients", "elements",
            "worst error", "verdict");
}

void table_overview_row(FILE *out, const char *op, const CheckTotals *t) {
    fprintf(out, "%-22s %6ld %10ld %9ld", op, t->cases, t->gradients, t->elements);
    gradcheck_number(out, 12, t->worst, t->passed > 0);
    fprintf(out, "  %s", gradcheck_verdict_text(t->failed ? FAIL : t->inconclusive ? INCONCLUSIVE : PASS));
    if (t->failed) fprintf(out, " (%ld of %ld)", t->failed, t->cases);
    gradcheck_remarks(out, t->kinks, t->flat, 0);
}

static const char *plural(long n) {
    return n == 1 ? "" : "s";
}

void table_summary(FILE *out, const CheckTotals *t, double seconds) {
    fprintf(out, "\n%ld operation%s, %ld case%s, %ld gradient%s, %ld element%s in %.1f s\n", t->operations,
            plural(t->operations), t->cases, plural(t->cases), t->gradients, plural(t->gradients),
            t->elements, plural(t->elements), seconds);
    if (t->passed && t->worst > 0) fprintf(out, "worst relative error %.1e (%s)\n", t->worst, t->worst_at);
    fprintf(out, "%ld passed, %ld failed, %ld inconclusive\n", t->passed, t->failed, t->inconclusive);
    if (t->inconclusive)
        fprintf(out, "INCONCLUSIVE: %ld case%s could be neither proved nor refuted\n", t->inconclusive,
                plural(t->inconclusive));
}
