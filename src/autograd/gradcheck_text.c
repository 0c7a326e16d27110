#include "autograd/gradcheck_text.h"
#include <float.h>
#include <math.h>

void gradcheck_remarks(FILE *out, long kinks, long flat, int moved) {
    const char *comma = "  ";
    if (kinks) fprintf(out, "%s%ld on a kink", comma, kinks), comma = ", ";
    if (flat) fprintf(out, "%s%ld flat", comma, flat), comma = ", ";
    if (moved) fprintf(out, "%spoint moved off a kink", comma);
    fprintf(out, "\n");
}

void gradcheck_number(FILE *out, int width, double x, bool any) {
    if (any)
        fprintf(out, " %*.1e", width, x);
    else
        fprintf(out, " %*s", width, "-");
}

void gradcheck_heading(FILE *out) {
    fprintf(out, "%-36s %-8s %8s %12s %9s  %s\n", "case", "gradient", "elements", "worst error", "estimate",
            "verdict");
}

void gradcheck_rows(FILE *out, const CaseReport *r) {
    char name[2 * REPORT_NAME];
    snprintf(name, sizeof name, "%s/%s", r->op, r->name);
    for (int i = 0; i < r->inputs; i++) {
        const InputReport *in = &r->in[i];
        fprintf(out, "%-36s %-8s %8ld", i ? "" : name, in->name, in->coordinates);
        gradcheck_number(out, 12, in->error, in->coordinates && isfinite(in->error));
        gradcheck_number(out, 9, in->estimate, in->coordinates && isfinite(in->estimate));
        fprintf(out, "  %s", verdict_text(in->verdict));
        gradcheck_remarks(out, in->kinks, in->flat, i ? 0 : r->moved);
    }
    if (r->inputs && !r->trouble[0]) return;
    fprintf(out, "%-36s %-39s  %s\n", r->inputs ? "" : name, r->property, verdict_text(r->verdict));
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

static void explain_worst(FILE *out, const CaseReport *r, const InputReport *in) {
    fprintf(out, "     worst at ");
    print_index(out, in->shape, in->element);
    if (r->by_reference) {
        fprintf(out, ": found %.10g, need %.10g ± %.1e\n", in->analytic, in->numeric, in->estimate);
        return;
    }
    if (in->output < 0)
        fprintf(out, " for a random upstream gradient");
    else
        fprintf(out, " for output element %ld", in->output);
    fprintf(out, ": analytic %.10g, numeric %.10g ± %.1e", in->analytic, in->numeric, in->estimate);
    if (isfinite(ulps(in))) fprintf(out, ", %.3g ulps apart", ulps(in));
    fprintf(out, "\n");
}

static void explain_input(FILE *out, const CaseReport *r, const InputReport *in) {
    fprintf(out, "%s %s/%s, %s: ", verdict_text(in->verdict), r->op, r->name, in->name);
    if (in->wrong)
        fprintf(out, "%ld of %ld elements are wrong\n", in->wrong, in->coordinates);
    else if (in->unclear)
        fprintf(out, "%ld of %ld elements are neither proved nor refuted\n", in->unclear, in->coordinates);
    if (in->wrong || in->unclear) explain_worst(out, r, in);
    if (in->reason[0])
        fprintf(out, in->wrong || in->unclear ? "     %s\n" : "%s\n", in->reason);
    else if (in->wrong && !r->by_reference)
        fprintf(out, "     no known pattern explains it\n");
}

void gradcheck_explain(FILE *out, const CaseReport *r) {
    if (r->trouble[0]) {
        fprintf(out, "%s %s/%s", verdict_text(r->verdict), r->op, r->name);
        if (r->property[0]) fprintf(out, ", property '%s'", r->property);
        fprintf(out, "\n     %s\n", r->trouble);
    }
    for (int i = 0; i < r->inputs; i++)
        if (r->in[i].verdict != PASS) explain_input(out, r, &r->in[i]);
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

void gradcheck_curves(FILE *out, const CaseReport *r) {
    for (int i = 0; i < r->inputs; i++) curve(out, r, &r->in[i]);
}

static Verdict check_and_print(const char *op, const CheckCase *c, FILE *out) {
    CaseReport r;
    gradcheck_case(op, c, 1, &r);
    gradcheck_rows(out, &r);
    gradcheck_explain(out, &r);
    return r.verdict;
}

Verdict gradcheck_op(const Op *op, FILE *out) {
    Verdict worst = op->n_cases ? PASS : INCONCLUSIVE;
    gradcheck_heading(out);
    for (int i = 0; i < op->n_cases; i++) {
        Verdict v = check_and_print(op->name, &op->cases[i], out);
        if (v > worst) worst = v;
    }
    return worst;
}

Verdict gradcheck_function(const char *name, Tensor *(*f)(Tape *t, Tensor **x), const CheckInput *in,
                           FILE *out) {
    CheckCase c = {.name = name, .build = f};
    for (int i = 0; in[i].name; i++) {
        if (i == CHECK_INPUTS) bug("gradcheck_function: %s has more than %d inputs", name, CHECK_INPUTS);
        c.in[i] = in[i];
    }
    gradcheck_heading(out);
    return check_and_print("function", &c, out);
}
