#include "grading/ulp_table.h"
#include <math.h>
#include <string.h>

void ulp_table_heading(FILE *out) {
    fprintf(out, "%-22s %6s %9s  %-7s  %s\n", "operation", "cases", "elements", "verdict",
            "worst error of the result and of each gradient, in ulps of its terms");
}

void ulp_row_add(UlpRow *row, const CaseReport *r) {
    snprintf(row->op, sizeof row->op, "%s", r->op);
    row->cases++;
    if (r->verdict > row->verdict) row->verdict = r->verdict;
    for (int i = 0; i < r->inputs; i++) {
        const InputReport *in = &r->in[i];
        int k = 0;
        while (k < row->parts && strcmp(row->part[k].name, in->name) != 0) k++;
        if (k == row->parts) {
            if (row->parts == ULP_PARTS) continue;
            snprintf(row->part[row->parts++].name, REPORT_NAME, "%s", in->name);
        }
        row->elements += in->coordinates;
        row->part[k].worst = fmax(row->part[k].worst, in->error);
    }
}

void ulp_table_row(FILE *out, const UlpRow *row) {
    fprintf(out, "%-22s %6ld %9ld  %-7s", row->op, row->cases, row->elements,
            gradcheck_verdict_text(row->verdict));
    for (int k = 0; k < row->parts; k++) fprintf(out, "  %s %.2g", row->part[k].name, row->part[k].worst);
    fprintf(out, "\n");
}

void ulp_sweep_heading(FILE *out, long every) {
    char floats[40];
    snprintf(floats, sizeof floats, every > 1 ? "1 of %ld floats" : "all floats", every);
    fprintf(out, "\n%-22s %16s  %-7s  %s\n", "function", floats, "verdict",
            "worst error over the whole range, in ulps of the result");
}

void ulp_sweep_row(FILE *out, const CaseReport *r) {
    if (!r->inputs) return;
    fprintf(out, "%-22s %16ld  %-7s  %.3f at %.9g, at most %.3g allowed\n", r->name, r->in[0].coordinates,
            gradcheck_verdict_text(r->verdict), r->in[0].error, r->in[0].analytic, r->in[0].estimate);
}

void ulp_totals_add(UlpTotals *t, const CaseReport *r, bool sweep) {
    t->failed += r->verdict == FAIL;
    t->passed += r->verdict == PASS;
    if (sweep) return;
    t->cases++;
    for (int i = 0; i < r->inputs; i++) {
        const InputReport *in = &r->in[i];
        t->results++;
        t->elements += in->coordinates;
        if (!(in->error > t->worst) || in->verdict != PASS) continue;
        t->worst = in->error;
        snprintf(t->worst_at, sizeof t->worst_at, "%.63s/%.63s, %.32s", r->op, r->name, in->name);
    }
}

void ulp_table_summary(FILE *out, const UlpTotals *t, int bound, double seconds) {
    fprintf(out, "\n%ld operations, %ld cases, %ld results of %ld elements in %.1f s\n", t->operations,
            t->cases, t->results, t->elements, seconds);
    fprintf(out, "at most %d ulps allowed, found %.2g (%s)\n", bound, t->worst, t->worst_at);
    fprintf(out, "%ld passed, %ld failed\n", t->passed, t->failed);
}
