#include "base/append.h"
#include "base/utf8.h"
#include "check/gradcheck/gradcheck.h"
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

void gradcheck_remarks(FILE *out, long kinks, long flat, bool moved, bool untested) {
    char text[REPORT_TEXT] = "";
    if (kinks) text_append(text, sizeof text, ", %ld on a kink", kinks);
    if (flat) text_append(text, sizeof text, ", %ld flat", flat);
    if (moved) text_append(text, sizeof text, ", another point drawn");
    if (untested) text_append(text, sizeof text, ", not tested: its gradients are 0");
    fprintf(out, "%s%s\n", *text ? "  " : "", *text ? text + 2 : "");
}

void gradcheck_number(FILE *out, int width, double x, bool any) {
    if (any)
        fprintf(out, " %*.1e", width, x);
    else
        fprintf(out, " %*s", width, "-");
}

enum { WIDTH = 80, INDENT = 5, PARAGRAPH = REPORT_FULL + 8 * REPORT_NAME };

/* Prints lines as they are. */
static void print_lines(FILE *out, const char *text) {
    for (const char *line = text; *line;) {
        size_t length = strcspn(line, "\n");
        fprintf(out, "%*s%.*s\n", INDENT + 2, "", (int)length, line);
        line += length + (line[length] == '\n');
    }
}

/* Prints text in lines of at most WIDTH columns, the first indented by `indent`, the others by
 * INDENT. Text that has lines of its own, as a compiler's, keeps them. */
static void paragraph(FILE *out, int indent, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static void paragraph(FILE *out, int indent, const char *format, ...) {
    char text[PARAGRAPH];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    char *rest = strchr(text, '\n');
    if (rest) *rest++ = 0;
    int at = fprintf(out, "%*s%s", indent, "", rest ? text : "");
    const char *word = rest ? "" : text;
    while (*word) {
        size_t length = strcspn(word, " ");
        int wide = (int)utf8_count(word, length);
        if (word > text && at + 1 + wide > WIDTH)
            at = fprintf(out, "\n%*s", INDENT, "") - 1;
        else if (word > text)
            at += fprintf(out, " ");
        fprintf(out, "%.*s", (int)length, word);
        at += wide;
        word += length + (word[length] == ' ');
    }
    fprintf(out, "\n");
    if (rest) print_lines(out, rest);
}

enum { NAME_COLUMNS = 30 };

void gradcheck_heading(FILE *out) {
    fprintf(out, "%-*s %-8s %8s %8s %9s  %s\n", NAME_COLUMNS, "case", "gradient", "elements",
            "error", "estimate", "verdict");
}

/* Prints the case's name; a long one takes a line of its own. */
static void row_name(FILE *out, const CaseReport *r) {
    char name[2 * REPORT_NAME];
    snprintf(name, sizeof name, "%s/%s", r->op, r->name);
    int columns = (int)utf8_count(name, strlen(name));
    if (columns > NAME_COLUMNS)
        fprintf(out, "%s\n%*s", name, NAME_COLUMNS, "");
    else
        fprintf(out, "%s%*s", name, NAME_COLUMNS - columns, "");
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
        gradcheck_remarks(out, in->kinks, in->flat, i == 0 && r->moved, i == 0 && r->untested);
    }
    if (r->inputs && !r->trouble[0]) return;
    if (r->inputs) fprintf(out, "%*s", NAME_COLUMNS, "");
    char property[REPORT_WORD + 16] = "";
    Property first = report_broken(r);
    if (first < PROPERTIES)
        snprintf(property, sizeof property, "property %s", report_property[first].name);
    fprintf(out, " %-36s  %s\n", property, gradcheck_verdict_text(r->verdict));
}

/* "3 of 12 elements are wrong". */
static const char *how_many(char text[REPORT_TEXT], long some, long all, const char *what) {
    if (all == 1)
        snprintf(text, REPORT_TEXT, "the only element is %s", what);
    else if (some == all)
        snprintf(text, REPORT_TEXT, "all %ld elements are %s", all, what);
    else
        snprintf(text, REPORT_TEXT, "%ld of %ld elements %s %s", some, all,
                 some == 1 ? "is" : "are", what);
    return text;
}

/* Removes the sign of a NaN, which says nothing. */
static double plain(double x) {
    return isnan(x) ? (double)NAN : x;
}

static void explain_worst(FILE *out, const CaseReport *r, const InputReport *in) {
    char at[INDEX_TEXT], y[INDEX_TEXT], where[96] = "";
    if (in->output >= 0 && r->outputs > 1)
        snprintf(where, sizeof where, ", for output %.60s",
                 report_output_text(y, r->part, r->parts, in->output));
    else if (in->output < 0 && !r->by_reference)
        snprintf(where, sizeof where, ", for a random upstream gradient");
    int digits = report_digits(in->analytic, in->numeric, 10);
    fprintf(out, "%*sworst%s%s%s: yours %.*g", INDENT, "", in->shape.rank ? " at " : "",
            gradcheck_index_text(at, in->shape, in->element), where, digits, plain(in->analytic));
    if (isfinite(in->numeric) && isfinite(in->estimate))
        fprintf(out, "  right %.*g ± %.1e", digits, in->numeric, in->estimate);
    if (in->numeric != 0 && isfinite(in->numeric) && isfinite(in->analytic))
        fprintf(out, "  ratio %.*g", report_digits(in->analytic / in->numeric, 1, 6),
                in->analytic / in->numeric);
    fprintf(out, "\n");
}

/* Names points without a derivative, gradients too small to be seen, and a forward with few digits.
 */
static void explain_remarks(FILE *out, const CaseReport *r, const InputReport *in) {
    char at[INDEX_TEXT], more[64] = "", text[REPORT_TEXT];
    int digits = report_digits(in->kink_below, in->kink_above, 6);
    if (in->kinks > 1) snprintf(more, sizeof more, "; %ld in all", in->kinks);
    if (in->kinks)
        paragraph(out, 0, "%s/%s, %s: kink at %s%s: one-sided derivatives %.*g and %.*g%s%s", r->op,
                  r->name, in->name, in->name + 1, gradcheck_index_text(at, in->shape, in->kink),
                  digits, in->kink_below, digits, in->kink_above,
                  in->kink_output < 0 ? ", for a random upstream gradient" : "", more);
    if (in->digits && in->verdict != INCONCLUSIVE)
        paragraph(out, 0,
                  "%s/%s, %s: forward rounds to about %d digits (is a number kept in float?): a "
                  "gradient is "
                  "proved to three digits",
                  r->op, r->name, in->name, in->digits);
    if (in->flat)
        paragraph(out, 0, "%s/%s, %s: %s: the derivative is too small to show in the output", r->op,
                  r->name, in->name, how_many(text, in->flat, in->coordinates, "flat"));
}

/* Prints one line for a case: the number of wrong elements, or the reason. */
static void explain_line(FILE *out, const CaseReport *r, const InputReport *in, const char *more) {
    char text[REPORT_TEXT];
    if (in->wrong)
        how_many(text, in->wrong, in->coordinates, "wrong");
    else if (in->unclear)
        how_many(text, in->unclear, in->coordinates, "neither proved nor refuted");
    else
        snprintf(text, sizeof text, "%s", in->reason);
    paragraph(out, 0, "%s %s/%s, %s: %s%s%s", gradcheck_verdict_text(in->verdict), r->op, r->name,
              in->name, text, *more ? ". " : "", more);
}

/* Prints all that is known of a wrong or unclear gradient. */
static void explain_input(FILE *out, const CaseReport *r, const InputReport *in) {
    explain_line(out, r, in, "");
    bool counted = in->wrong || in->unclear, in_short = strstr(in->reason, in->map);
    if (counted && in->reason[0]) paragraph(out, INDENT, "%s", in->reason);
    if (in->wrong && in->map[0] && !in_short) paragraph(out, INDENT, "%s: %s", in->name, in->map);
    if (r->at_ends && in->wrong)
        paragraph(out, INDENT,
                  "right at the values drawn, wrong with values at the ends of the case's ranges");
    if (counted && !in->full[0] && in->analytic != in->numeric) explain_worst(out, r, in);
    if (!in->full[0]) return;
    paragraph(out, INDENT, "The smallest case that fails, '%s':", r->name);
    print_lines(out, in->full);
}

/* ---- One mistake in many cases ---- */

static const InputReport *find_wrong(const CaseReport *r, const char *op, const char *name) {
    if (r->by_reference || strcmp(r->op, op) != 0) return NULL;
    for (int i = 0; i < r->inputs; i++)
        if (r->in[i].wrong && strcmp(r->in[i].name, name) == 0) return &r->in[i];
    return NULL;
}

/* Returns the report that shows the mistake best: the smallest case in full. A case of the file
 * comes before cases that the checker added. */
static const CaseReport *head_of(const CaseReport *all, long count, const char *op,
                                 const char *name) {
    const CaseReport *best = NULL;
    const InputReport *shown = NULL;
    for (const CaseReport *r = all; r < all + count; r++) {
        const InputReport *in = find_wrong(r, op, name);
        if (!in) continue;
        bool smaller =
            best && in->full_size && (!shown->full_size || in->full_size < shown->full_size);
        if (best && r->added >= best->added && !(r->added == best->added && smaller)) continue;
        best = r;
        shown = in;
    }
    return best;
}

/* Whether two wrong gradients have the same explanation, but for numbers that matter. */
static bool is_alike(const InputReport *in, const InputReport *first) {
    return strcmp(in->reason, first->reason) == 0 ||
           (in->form && in->form == first->form && in->pattern != PATTERN_ONLY_SOMEWHERE);
}

/* Explains a wrong gradient in all cases: one in full, the others of the file in a line each, which
 * has a reason if it is another one. */
static void explain_gradient(FILE *out, const CaseReport *all, long count, const char *op,
                             const char *name) {
    const CaseReport *head = head_of(all, count, op, name);
    const InputReport *first = find_wrong(head, op, name);
    long added = 0;
    explain_input(out, head, first);
    for (const CaseReport *r = all; r < all + count; r++) {
        const InputReport *in = find_wrong(r, op, name);
        if (!in || r == head) continue;
        bool counted = r->added && !head->added, alike = is_alike(in, first);
        const char *unlike_it = in->reason[0] ? in->reason : in->map;
        added += counted;
        if (!counted) explain_line(out, r, in, alike ? "" : unlike_it);
    }
    if (added)
        paragraph(out, INDENT, "It is wrong in %ld more case%s that the checker added.", added,
                  PLURAL(added));
}

/* Whether an earlier report of the operation has the same gradient wrong, or (name NULL) the same
 * property broken. */
static bool is_known(const CaseReport *all, const CaseReport *r, const char *name) {
    for (const CaseReport *b = all; b < r; b++)
        if (name ? find_wrong(b, r->op, name) != NULL
                 : strcmp(b->op, r->op) == 0 && report_broken(b) == report_broken(r))
            return true;
    return false;
}

/* Prints what a report adds to the earlier ones: properties not known yet, and gradients if they
 * are explained. */
static void explain_more(FILE *out, const CaseReport *all, long count, const CaseReport *r,
                         bool gradients) {
    for (int i = 0; i < (gradients ? r->inputs : 0); i++) {
        const InputReport *in = &r->in[i];
        bool wrong = find_wrong(r, r->op, in->name);
        if (wrong && !is_known(all, r, in->name))
            explain_gradient(out, all, count, r->op, in->name);
        else if (!wrong && in->verdict != PASS)
            explain_input(out, r, in);
        if (!r->added) explain_remarks(out, r, in);
    }
    Property first = report_broken(r);
    bool known = first < PROPERTIES && is_known(all, r, NULL);
    if (!r->trouble[0] || (r->added && known)) return;
    const char *verdict = gradcheck_verdict_text(r->verdict);
    if (first == PROPERTIES) {
        paragraph(out, 0, "%s %s/%s: %s", verdict, r->op, r->name, r->trouble);
        return;
    }
    paragraph(out, 0, "%s %s/%s: the property '%s' does not hold", verdict, r->op, r->name,
              report_property[first].name);
    if (!known) paragraph(out, INDENT, "%s", r->trouble);
    if (!gradients && first == PROPERTY_FORWARD && !known)
        paragraph(out, INDENT,
                  "The gradients are compared with those of the right forward: a wrong one is "
                  "explained when the forward is right.");
}

/* Whether no case of the operation shows another output than the reference's. */
static bool is_forward_right(const CaseReport *all, long count, const char *op) {
    for (const CaseReport *r = all; r < all + count; r++)
        if (strcmp(r->op, op) == 0 && r->broken[PROPERTY_FORWARD][0]) return false;
    return true;
}

void gradcheck_explain(FILE *out, const CaseReport *r) {
    explain_more(out, r, 1, r, true);
}

void gradcheck_explain_all(FILE *out, const CaseReport *r, long count) {
    for (long i = 0; i < count; i++) {
        char *text;
        size_t size = 0;
        FILE *memory = text_open(&text, &size);
        explain_more(memory, r, count, &r[i], is_forward_right(r, count, r[i].op));
        text_close(memory, &text);
        bool apart = *text && (i == 0 || strchr(text, '\n') + 1 < text + size);
        if (*text) fprintf(out, "%s%s", apart ? "\n" : "", text);
        free(text);
    }
}

Verdict gradcheck_op(const Op *op, FILE *out) {
    WANT(op);
    WANT(out);
    Verdict worst = op->n_cases ? PASS : INCONCLUSIVE;
    CaseReport *r = calloc((size_t)op->n_cases + 1, sizeof *r);
    if (!r) error_no_memory("reports");
    for (int i = 0; i < op->n_cases; i++) gradcheck_case(op->name, &op->cases[i], 1, &r[i]);
    gradcheck_agree(r, op->n_cases);
    gradcheck_heading(out);
    for (int i = 0; i < op->n_cases; i++) {
        gradcheck_rows(out, &r[i]);
        if (r[i].verdict > worst) worst = r[i].verdict;
    }
    gradcheck_explain_all(out, r, op->n_cases);
    free(r);
    return worst;
}

Verdict gradcheck_function(const char *name, Tensor *(*f)(Tape *t, Tensor **x),
                           const CheckInput *in, FILE *out) {
    WANT(f);
    WANT(in);
    CheckCase c = {.name = name, .build = f};
    for (int i = 0; in[i].name; i++) {
        if (i == CHECK_INPUTS)
            error_bug("gradcheck_function: %s has more than %d inputs", name, CHECK_INPUTS);
        c.in[i] = in[i];
    }
    return gradcheck_op(&(Op){.name = "function", .cases = &c, .n_cases = 1}, out);
}
