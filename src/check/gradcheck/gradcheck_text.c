#include "check/gradcheck/gradcheck_text.h"
#include "check/gradcheck/check_run.h"
#include "check/gradcheck/contrast.h"
#include <float.h>
#include <math.h>
#include <stdarg.h>
#include <string.h>

void gradcheck_remarks(FILE *out, long kinks, long flat, int moved) {
    const char *comma = "  ";
    if (kinks) fprintf(out, "%s%ld on a kink", comma, kinks), comma = ", ";
    if (flat) fprintf(out, "%s%ld flat", comma, flat), comma = ", ";
    if (moved) fprintf(out, "%sanother point drawn", comma);
    fprintf(out, "\n");
}

void gradcheck_number(FILE *out, int width, double x, bool any) {
    if (any)
        fprintf(out, " %*.1e", width, x);
    else
        fprintf(out, " %*s", width, "-");
}

/* Columns that text takes: bytes that begin a character. */
static int columns(const char *text, size_t bytes) {
    int n = 0;
    for (size_t i = 0; i < bytes; i++) n += ((unsigned char)text[i] & 0xC0) != 0x80;
    return n;
}

/* Text in lines of at most WIDTH columns; the first begins `indent` columns in, the others INDENT. */
enum { WIDTH = 80, INDENT = 5, PARAGRAPH = 2 * REPORT_TEXT + 2 * REPORT_NAME };
static void paragraph(FILE *out, int indent, const char *format, ...) __attribute__((format(printf, 3, 4)));
static void paragraph(FILE *out, int indent, const char *format, ...) {
    char text[PARAGRAPH];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    int at = fprintf(out, "%*s", indent, "");
    for (const char *word = text; *word;) {
        size_t length = strcspn(word, " ");
        int wide = columns(word, length);
        if (word > text && at + 1 + wide > WIDTH)
            at = fprintf(out, "\n%*s", INDENT, "") - 1;
        else if (word > text)
            at += fprintf(out, " ");
        fprintf(out, "%.*s", (int)length, word);
        at += wide;
        word += length + (word[length] == ' ');
    }
    fprintf(out, "\n");
}

enum { NAME_COLUMNS = 30 };

void gradcheck_heading(FILE *out) {
    fprintf(out, "%-*s %-8s %8s %8s %9s  %s\n", NAME_COLUMNS, "case", "gradient", "elements", "error",
            "estimate", "verdict");
}

/* The case's name, which has a line of its own where it is long. */
static void row_name(FILE *out, const CaseReport *r) {
    char name[2 * REPORT_NAME];
    snprintf(name, sizeof name, "%s/%s", r->op, r->name);
    if (columns(name, strlen(name)) > NAME_COLUMNS)
        fprintf(out, "%s\n%*s", name, NAME_COLUMNS, "");
    else
        fprintf(out, "%s%*s", name, NAME_COLUMNS - columns(name, strlen(name)), "");
}

void gradcheck_rows(FILE *out, const CaseReport *r) {
    row_name(out, r);
    for (int i = 0; i < r->inputs; i++) {
        const InputReport *in = &r->in[i];
        if (i) fprintf(out, "%*s", NAME_COLUMNS, "");
        fprintf(out, " %-8s %8ld", in->name, in->coordinates);
        gradcheck_number(out, 8, in->error, in->coordinates && isfinite(in->error));
        gradcheck_number(out, 9, in->estimate, in->coordinates && isfinite(in->estimate));
        fprintf(out, "  %s", gradcheck_verdict_text(in->verdict));
        gradcheck_remarks(out, in->kinks, in->flat, i ? 0 : r->moved);
    }
    if (r->inputs && !r->trouble[0]) return;
    if (r->inputs) fprintf(out, "%*s", NAME_COLUMNS, "");
    char property[REPORT_WORD + 16] = "";
    if (r->property[0]) snprintf(property, sizeof property, "property %s", r->property);
    fprintf(out, " %-36s  %s\n", property, gradcheck_verdict_text(r->verdict));
}

/* |analytic - numeric| in units of numeric's last digit. */
static double ulps(const InputReport *in) {
    if (in->numeric == 0 || !isfinite(in->numeric) || !isfinite(in->analytic)) return NAN;
    return fabs(in->analytic - in->numeric) / ldexp(DBL_EPSILON, ilogb(in->numeric));
}

/* Without the sign of a NaN, which says nothing. */
static double plain(double x) {
    return isnan(x) ? (double)NAN : x;
}

static void explain_worst(FILE *out, const CaseReport *r, const InputReport *in) {
    char at[INDEX_TEXT], where[96] = "";
    if (in->output >= 0 && r->outputs > 1)
        snprintf(where, sizeof where, ", for output element %ld", in->output);
    else if (in->output < 0 && !r->by_reference)
        snprintf(where, sizeof where, ", for a random upstream gradient");
    if (in->shape.rank)
        fprintf(out, "%*sworst at %s%s:\n", INDENT, "", gradcheck_index_text(at, in->shape, in->element),
                where);
    else
        fprintf(out, "%*sthe number%s:\n", INDENT, "", where);
    fprintf(out, "%*s%-8s % .10g\n", 2 * INDENT, "", r->by_reference ? "found" : "analytic",
            plain(in->analytic));
    fprintf(out, "%*s%-8s % .10g ± %.1e", 2 * INDENT, "", r->by_reference ? "need" : "numeric",
            plain(in->numeric), in->estimate);
    if (isfinite(ulps(in)) && !r->by_reference) fprintf(out, ", %.2g ulps away", ulps(in));
    fprintf(out, "\n");
}

/* "all 12 elements are wrong": how many of how many are what. */
static const char *how_many(char text[REPORT_TEXT], long some, long all, const char *what) {
    if (all == 1)
        snprintf(text, REPORT_TEXT, "the only element is %s", what);
    else if (some == all)
        snprintf(text, REPORT_TEXT, "all %ld elements are %s", all, what);
    else
        snprintf(text, REPORT_TEXT, "%ld of %ld elements %s %s", some, all, some == 1 ? "is" : "are", what);
    return text;
}

/* Points where there is no derivative, and gradients too small to be seen: no failures, but not proofs either. */
static void explain_remarks(FILE *out, const CaseReport *r, const InputReport *in) {
    char at[INDEX_TEXT], more[64] = "", text[REPORT_TEXT];
    if (in->kinks > 1) snprintf(more, sizeof more, "; %ld in all", in->kinks);
    if (in->kinks)
        paragraph(out, 0, "%s/%s, %s: kink at %s%s: one-sided derivatives %.6g and %.6g%s%s", r->op, r->name,
                  in->name, in->name + 1, in->shape.rank ? gradcheck_index_text(at, in->shape, in->kink) : "",
                  in->kink_below, in->kink_above,
                  in->kink_output < 0 ? ", for a random upstream gradient" : "", more);
    if (in->flat)
        paragraph(out, 0, "%s/%s, %s: %s: the derivative is too small to show in the output", r->op, r->name,
                  in->name, how_many(text, in->flat, in->coordinates, "flat"));
}

enum { LIKE_TEXT = REPORT_NAME + 16 };
static void like_text(char text[LIKE_TEXT], const char *like) {
    snprintf(text, LIKE_TEXT, like ? ", as in '%s'" : "%s", like ? like : "");
}

/* first: no case before has the gradient wrong. contrast: what other cases say about it, NULL where that is said already, or
 * nothing; beside: which gradients are right. */
static void explain_input(FILE *out, const CaseReport *r, const InputReport *in, bool first, const char *like,
                          const char *contrast, const char *beside) {
    char text[REPORT_TEXT], same[LIKE_TEXT];
    like_text(same, like);
    if (in->wrong)
        how_many(text, in->wrong, in->coordinates, "wrong");
    else if (in->unclear)
        how_many(text, in->unclear, in->coordinates, "neither proved nor refuted");
    paragraph(out, 0, "%s %s/%s, %s: %s%s", gradcheck_verdict_text(in->verdict), r->op, r->name, in->name,
              in->wrong || in->unclear ? text : in->reason, same);
    if (like || (!in->wrong && !in->unclear) || (r->added && in->wrong && !first && !in->reason[0])) return;
    if (in->reason[0])
        paragraph(out, INDENT, "%s%s", in->reason, strcmp(in->pattern, "only somewhere") == 0 ? beside : "");
    else if (in->wrong && !r->by_reference && !contrast)
        paragraph(out, INDENT, "no known pattern explains it%s", beside);
    if (contrast) paragraph(out, INDENT, "%s", contrast);
    if (r->at_ends && in->wrong)
        paragraph(out, INDENT, "right at the values drawn, wrong with values at the ends of the case's ranges");
    explain_worst(out, r, in);
}

static void explain_trouble(FILE *out, const CaseReport *r, const char *like) {
    if (!r->property[0]) {
        paragraph(out, 0, "%s %s/%s: %s", gradcheck_verdict_text(r->verdict), r->op, r->name, r->trouble);
        return;
    }
    char same[LIKE_TEXT];
    like_text(same, like);
    paragraph(out, 0, "%s %s/%s: the property '%s' does not hold%s", gradcheck_verdict_text(r->verdict),
              r->op, r->name, r->property, same);
    if (!like) paragraph(out, INDENT, "%s", r->trouble);
}

/* Whether a gradient's report says no more than that of an earlier case does. Of the numbers in a reason only a constant factor
 * is worth another look, in cases that somebody wrote. */
static bool is_like(const InputReport *in, const InputReport *before, bool added) {
    if (!in->wrong || !before->wrong || in->verdict != before->verdict || strcmp(in->name, before->name) != 0)
        return false;
    if (strcmp(in->reason, before->reason) == 0) return true;
    bool same_form = in->form && in->form == before->form;
    return same_form && (added || strcmp(in->pattern, "constant factor") != 0);
}

/* The name of the first of `count` reports of the same operation with the same trouble (in: with the same gradient
 * wrong for the same reason), NULL if there is none. */
static const char *like_before(const CaseReport *r, const InputReport *in, const CaseReport *before,
                               long count) {
    if (in && strcmp(in->pattern, "loss differs") == 0) return "loss";
    if (r->by_reference) return NULL; /* each array is a work of its own */
    for (const CaseReport *b = before; b < before + count; b++) {
        if (strcmp(b->op, r->op) != 0) continue;
        if (!in && r->property[0] && strcmp(b->property, r->property) == 0) return b->name;
        for (int i = 0; in && i < b->inputs; i++)
            if (is_like(in, &b->in[i], r->added)) return b->name;
    }
    return NULL;
}

/* Whether no report before says that the gradient is wrong. */
static bool first_wrong(const CaseReport *r, const InputReport *in, const CaseReport *before, long count) {
    for (const CaseReport *b = before; b < before + count; b++)
        for (int i = 0; i < b->inputs && strcmp(b->op, r->op) == 0; i++)
            if (b->in[i].wrong && strcmp(b->in[i].name, in->name) == 0) return false;
    return true;
}

/* A report among `count`, of which the first `before` are explained. What the diagnosis speaks of goes first. */
static void explain(FILE *out, const CaseReport *r, const CaseReport *all, long count, long before) {
    bool trouble_first = !r->inputs || !r->property[0] || strcmp(r->diagnosis, r->property) == 0;
    if (r->trouble[0] && trouble_first) explain_trouble(out, r, like_before(r, NULL, all, before));
    for (int i = 0; i < r->inputs; i++) {
        const InputReport *in = &r->in[i];
        char text[REPORT_TEXT], beside[REPORT_TEXT];
        bool first = first_wrong(r, in, all, before);
        bool differs = first && gradcheck_contrast(all, count, r, in, text);
        gradcheck_right_beside(all, count, r, beside);
        if (in->verdict != PASS)
            explain_input(out, r, in, first, like_before(r, in, all, before), differs ? text : NULL, beside);
        explain_remarks(out, r, in);
    }
    if (r->trouble[0] && !trouble_first) explain_trouble(out, r, like_before(r, NULL, all, before));
}

void gradcheck_explain(FILE *out, const CaseReport *r, const CaseReport *all, long count) {
    explain(out, r, all, count, 0);
}

/* Whether a report among others has something to say, and more than that it is like one before it. */
static bool says(const CaseReport *r) {
    bool any = r->trouble[0];
    for (int i = 0; i < r->inputs; i++) any |= r->in[i].verdict != PASS || r->in[i].kinks || r->in[i].flat;
    return any;
}
static bool says_more(const CaseReport *r, const CaseReport *before, long count) {
    bool more = r->trouble[0] && !like_before(r, NULL, before, count);
    for (int i = 0; i < r->inputs; i++)
        more |= r->in[i].verdict != PASS && !like_before(r, &r->in[i], before, count);
    return more;
}

void gradcheck_explain_all(FILE *out, const CaseReport *r, long count) {
    bool first = true;
    for (long i = 0; i < count; i++) {
        if (!says(&r[i])) continue;
        if (first || says_more(&r[i], r, i)) fprintf(out, "\n");
        first = false;
        explain(out, &r[i], r, count, i);
    }
}

/* The power of ten below an error. */
static int curve_row(double error) {
    enum { HIGHEST = 2, LOWEST = -16 };
    return error > 0 ? (int)fmax(fmin(floor(log10(error)), HIGHEST), LOWEST) : LOWEST;
}

/* One column a step, from large to small; one row a power of ten of the error. */
static void curve(FILE *out, const CaseReport *r, const InputReport *in) {
    if (!in->curve_points) return;
    char text[INDEX_TEXT];
    fprintf(out, "\n");
    paragraph(out, 0, "%s/%s, %s%s: error of plain central differences, relative to %.6g", r->op, r->name,
              in->name, in->shape.rank ? gradcheck_index_text(text, in->shape, in->element) : "",
              in->numeric);
    double size = in->numeric != 0 ? fabs(in->numeric) : 1;
    int analytic = curve_row(fabs(in->analytic - in->numeric) / size), known = curve_row(in->estimate / size);
    int highest = known > analytic ? known : analytic, lowest = known < analytic ? known : analytic;
    for (int i = 0; i < in->curve_points; i++) {
        int at = curve_row(in->curve[i].error);
        if (!isfinite(in->curve[i].error)) continue;
        if (at > highest) highest = at;
        if (at < lowest) lowest = at;
    }
    for (int row = highest; row >= lowest; row--) {
        fprintf(out, "1e%+03d |", row);
        for (int i = 0; i < in->curve_points; i++)
            fputc(isfinite(in->curve[i].error) && curve_row(in->curve[i].error) == row ? '*' : ' ', out);
        if (row == analytic || row == known)
            fprintf(out, " <- %s",
                    row != known      ? "analytic gradient"
                    : row != analytic ? "numeric derivative"
                                      : "analytic, numeric");
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
    gradcheck_explain(out, &r, &r, 1);
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
        if (i == CHECK_INPUTS)
            error_bug("gradcheck_function: %s has more than %d inputs", name, CHECK_INPUTS);
        c.in[i] = in[i];
    }
    gradcheck_heading(out);
    return check_and_print("function", &c, out);
}
