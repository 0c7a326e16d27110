/* What gradcheck found, on the terminal. */
#include "report/gradcheck_report.h"
#include <float.h>
#include <math.h>
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

static void remarks(FILE *out, long kinks, long flat, int moved) {
    const char *comma = "  ";
    if (kinks) fprintf(out, "%s%ld on a kink", comma, kinks), comma = ", ";
    if (flat) fprintf(out, "%s%ld flat", comma, flat), comma = ", ";
    if (moved) fprintf(out, "%spoint moved off a kink", comma);
    fprintf(out, "\n");
}

void table_heading(FILE *out) {
    fprintf(out, "%-34s %-8s %8s %12s %9s  %s\n", "case", "gradient", "elements", "worst error", "numeric ±",
            "verdict");
}

/* A number, or "-" where there is none. */
static void number(FILE *out, int width, double x, bool any) {
    if (any)
        fprintf(out, " %*.1e", width, x);
    else
        fprintf(out, " %*s", width, "-");
}

void table_rows(FILE *out, const CaseReport *r) {
    char name[2 * REPORT_NAME];
    snprintf(name, sizeof name, "%s/%s", r->op, r->name);
    for (int i = 0; i < r->inputs; i++) {
        const InputReport *in = &r->in[i];
        fprintf(out, "%-34s %-8s %8ld", i ? "" : name, in->name, in->coordinates);
        number(out, 12, in->error, in->coordinates && isfinite(in->error));
        number(out, 9, in->estimate, in->coordinates && isfinite(in->estimate));
        fprintf(out, "  %s", verdict_text(in->verdict));
        remarks(out, in->kinks, in->flat, i ? 0 : r->moved);
    }
    if (!r->inputs || r->trouble[0])
        fprintf(out, "%-34s %-40s  %s\n", r->inputs ? "" : name, "", verdict_text(r->verdict));
}

void table_overview_heading(FILE *out) {
    fprintf(out, "%-22s %6s %10s %9s %12s  %s\n", "operation", "cases", "gradients", "elements",
            "worst error", "verdict");
}

void table_overview_row(FILE *out, const char *op, const CheckTotals *t) {
    fprintf(out, "%-22s %6ld %10ld %9ld", op, t->cases, t->gradients, t->elements);
    number(out, 12, t->worst, t->passed > 0);
    fprintf(out, "  %s", verdict_text(t->failed ? FAIL : t->inconclusive ? INCONCLUSIVE : PASS));
    if (t->failed) fprintf(out, " (%ld of %ld)", t->failed, t->cases);
    remarks(out, t->kinks, t->flat, 0);
}

static void print_index(FILE *out, Shape s, long i) {
    long index[MAX_RANK];
    for (int axis = s.rank - 1; axis >= 0; axis--) {
        index[axis] = i % s.size[axis];
        i /= s.size[axis];
    }
    fprintf(out, "[");
    for (int axis = 0; axis < s.rank; axis++) fprintf(out, axis ? ",%ld" : "%ld", index[axis]);
    fprintf(out, "]");
}

/* |analytic - numeric| in units of numeric's last digit. */
static double ulps(const InputReport *in) {
    if (in->numeric == 0 || !isfinite(in->numeric) || !isfinite(in->analytic)) return NAN;
    return fabs(in->analytic - in->numeric) / ldexp(DBL_EPSILON, ilogb(in->numeric));
}

void table_explain(FILE *out, const CaseReport *r) {
    if (r->verdict == PASS) return;
    if (r->trouble[0]) {
        fprintf(out, "%s %s/%s", verdict_text(r->verdict), r->op, r->name);
        if (r->property[0]) fprintf(out, ", property '%s'", r->property);
        fprintf(out, "\n     %s\n", r->trouble);
    }
    for (int i = 0; i < r->inputs; i++) {
        const InputReport *in = &r->in[i];
        if (in->verdict == PASS) continue;
        fprintf(out, "%s %s/%s, %s: ", verdict_text(in->verdict), r->op, r->name, in->name);
        if (in->wrong)
            fprintf(out, "%ld of %ld elements are wrong\n", in->wrong, in->coordinates);
        else
            fprintf(out, "%ld of %ld elements are neither proved nor refuted\n", in->unclear,
                    in->coordinates);
        if (in->coordinates) {
            fprintf(out, "     worst at ");
            print_index(out, in->shape, in->element);
            if (in->output < 0)
                fprintf(out, " for a random upstream gradient");
            else
                fprintf(out, " for output element %ld", in->output);
            fprintf(out, ": analytic %.10g, numeric %.10g ± %.1e", in->analytic, in->numeric, in->estimate);
            if (isfinite(ulps(in))) fprintf(out, ", %.3g ulps apart", ulps(in));
            fprintf(out, "\n");
        }
        if (in->reason[0])
            fprintf(out, "     %s\n", in->reason);
        else if (in->verdict == FAIL)
            fprintf(out, "     no known pattern explains it\n");
    }
}

void table_summary(FILE *out, const CheckTotals *t, double seconds) {
    fprintf(out, "\n%ld operation%s, %ld cases, %ld gradients, %ld elements in %.1f s", t->operations,
            t->operations == 1 ? "" : "s", t->cases, t->gradients, t->elements, seconds);
    if (t->passed && t->worst > 0) fprintf(out, "; worst relative error %.1e (%s)", t->worst, t->worst_at);
    fprintf(out, "\n%ld passed, %ld failed, %ld inconclusive\n", t->passed, t->failed, t->inconclusive);
    if (t->inconclusive)
        fprintf(out, "INCONCLUSIVE: %ld case%s could be neither proved nor refuted\n", t->inconclusive,
                t->inconclusive == 1 ? "" : "s");
}

/* One column a step, from large to small; one row a power of ten of the error. */
static void curve(FILE *out, const CaseReport *r, const InputReport *in) {
    enum { HIGHEST = 2, LOWEST = -16 };
    if (!in->curve_points) return;
    fprintf(out, "\n%s/%s, %s at ", r->op, r->name, in->name);
    print_index(out, in->shape, in->element);
    fprintf(out, ": error of a central difference, relative to %.6g\n", in->numeric);
    double size = in->numeric != 0 ? fabs(in->numeric) : 1;
    double off = fabs(in->analytic - in->numeric) / size, known = in->estimate / size;
    for (int row = HIGHEST; row >= LOWEST; row--) {
        fprintf(out, "1e%+03d |", row);
        for (int i = 0; i < in->curve_points; i++) {
            double e = in->curve[i].error;
            int at = e > 0 ? (int)fmax(fmin(floor(log10(e)), HIGHEST), LOWEST) : LOWEST;
            fputc(isfinite(e) && at == row ? '*' : ' ', out);
        }
        if (off > 0 && (int)floor(log10(off)) == row) fprintf(out, " <- the analytic gradient");
        if (known > 0 && (int)floor(log10(known)) == row) fprintf(out, " <- what extrapolation knows");
        fprintf(out, "\n");
    }
    fprintf(out, "      +");
    for (int i = 0; i < in->curve_points; i++) fputc('-', out);
    fprintf(out, "\n       step from %.3g to %.3g, each half the one before\n", in->curve[0].step,
            in->curve[in->curve_points - 1].step);
}

void table_curves(FILE *out, const CaseReport *r) {
    for (int i = 0; i < r->inputs; i++) curve(out, r, &r->in[i]);
}
