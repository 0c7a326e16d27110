/* The walk prints of a record its names, its matrices, and the sums behind their cells. */
#include "base/append.h"
#include "explain/screen.h"
#include "explain/walk.h"
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* ---- Text ---- */

void step_say(int indent, const char *format, ...) {
    static const char *const ascii[][2] = {
        {"Σ_", "sum_"}, {"Σ", "sum "},  {"γ", "gamma"}, {"β", "beta"},     {"∂", "d"},
        {"√", "sqrt"},  {"ᵀ", "^T"},    {"·", "*"},     {"\xCC\x82", "^"}, {"Φ", "Phi"},
        {"φ", "phi"},   {"σ", "sigma"}, {"²", "^2"},    {"≤", "<="},       {"…", "..."},
        {"μ", "mu"},    {"ε", "eps"},   {"∞", "inf"},   {"δ", "delta"},    {"×", "x"}};
    enum { SIGNS = sizeof ascii / sizeof *ascii };
    char text[TEXT], line[3 * TEXT]; /* a sign of two bytes has up to five letters */
    size_t used = 0;
    bool unicode = terminal_unicode();
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    for (const char *c = text; *c; c++) {
        int sign = unicode ? SIGNS : 0;
        while (sign < SIGNS && strncmp(c, ascii[sign][0], strlen(ascii[sign][0])) != 0) sign++;
        if (sign < SIGNS) {
            used += (size_t)sprintf(line + used, "%s", ascii[sign][1]);
            c += strlen(ascii[sign][0]) - 1;
        } else {
            line[used++] = *c & 0x80 && !unicode ? '?' : *c;
        }
    }
    line[used] = 0;
    print_wrapped(line, indent);
}

const char *step_name(const Tour *w, const Tensor *x, char out[RECORD_NAME]) {
    size_t prefix = strlen(w->layer);
    record_name(&w->records, x, out);
    return strncmp(out, w->layer, prefix) == 0 ? out + prefix : out;
}

/* ---- Matrices ---- */

/* The part of a tensor that is shown: of one head, or all. Leading axes are rows. */
typedef struct Matrix {
    long first, rows, columns;
    const char *const *row_labels, *const *column_labels; /* NULL: numbers */
} Matrix;

/* The labels along an axis; NULL if there are not `count`, or the terminal cannot show all. */
static const char *const *labels_of(const Tour *w, Axis axis, long count) {
    const Labels *x = &w->records.labels[axis];
    if (x->count != count) return NULL;
    for (long i = 0; i < count; i++)
        for (const char *c = x->of[i]; *c; c++)
            if (*c & 0x80 && !terminal_unicode()) return NULL;
    return x->of;
}

static Matrix matrix_of(const Tour *w, const Tensor *x) {
    Axes axes = record_axes(&w->records, x);
    int rank = x->shape.rank;
    long columns = rank ? x->shape.size[rank - 1] : 1;
    Matrix m = {.rows = columns ? shape_count(x->shape) / columns : 0, .columns = columns};
    if (rank == 3 && axes.of[0] == AXIS_HEAD) {
        m.rows = x->shape.size[1];
        m.first = (w->options->head - 1) * m.rows * columns;
    }
    if (rank >= 1) m.column_labels = labels_of(w, axes.of[rank - 1], columns);
    if (rank >= 2) m.row_labels = labels_of(w, axes.of[rank - 2], m.rows);
    return m;
}

long step_cell(const Tour *w, const Tensor *x, const real *values) {
    Matrix m = matrix_of(w, x);
    long best = m.first, end = m.first + m.rows * m.columns;
    bool is_inside = w->row < m.rows && w->column < m.columns;
    if (w->row >= 0) return is_inside ? m.first + w->row * m.columns + w->column : -1;
    if (!values || best == end) return -1;
    for (long i = best; i < end; i++)
        if (fabs((double)values[i]) > fabs((double)values[best])) best = i;
    return best;
}

/* Characters of the longest number. */
static int widest_number(const real *x, long count) {
    double largest = 0;
    for (long i = 0; i < count; i++)
        if (isfinite(x[i])) largest = fmax(largest, fabs((double)x[i]));
    return snprintf(NULL, 0, "-%.4f", largest);
}

/* Prints the first and last `edge` columns of a row; x NULL: of the head. */
static void print_row(const Matrix *m, const real *x, long edge, int cell) {
    for (long j = 0; j < m->columns; j++) {
        if (j >= edge && j < m->columns - edge) {
            if (j == edge) printf(" ...");
        } else if (x) {
            printf(" %*.4f", cell, (double)x[j]);
        } else {
            putchar(' ');
            label_print(m->column_labels, j, cell, true);
        }
    }
    putchar('\n');
}

void step_print_matrix(const Tour *w, const Tensor *x, const real *values) {
    enum { MAX_ROWS = 3, GAP = 4 };
    Matrix m = matrix_of(w, x);
    bool is_vector = x->shape.rank < 2, full = w->options->full;
    int side = is_vector ? 1 : label_widest(m.row_labels, m.rows, MAX_LABEL);
    int cell = widest_number(values + m.first, m.rows * m.columns);
    int widest = m.column_labels ? label_widest(m.column_labels, m.columns, MAX_LABEL) : 0;
    if (widest > cell) cell = widest;
    long width = terminal_of(stdout).width - side - 2, edge = (width - GAP) / (cell + 1) / 2;
    if (edge < 1) edge = 1;
    if (full || m.columns <= width / (cell + 1)) edge = m.columns;
    bool is_one = w->brief && edge < m.columns;
    long only = is_one ? (step_cell(w, x, values) - m.first) / m.columns : -1;
    if (m.column_labels || full) {
        printf("  %*s", side, "");
        print_row(&m, NULL, edge, cell);
    }
    for (long i = 0; i < m.rows; i++) {
        bool is_outer = full || m.rows <= MAX_ROWS || i == 0 || i == m.rows - 1;
        if (only >= 0 ? i == only : is_outer) {
            printf("  %*s", is_vector, "");
            if (!is_vector) label_print(m.row_labels, i, side, false);
            print_row(&m, values + m.first + i * m.columns, edge, cell);
        } else if (i == 1 && only < 0) {
            printf("  ...\n");
        }
    }
}

/* ---- Cells ---- */

const char *step_element(const Tour *w, const Tensor *x, long element, char out[TEXT]) {
    Matrix m = matrix_of(w, x);
    char name[RECORD_NAME];
    snprintf(out, TEXT, "%s", step_name(w, x, name));
    if (x->shape.rank > 1)
        text_append(out, TEXT, "[%ld,%ld]", element / m.columns % m.rows, element % m.columns);
    else if (x->shape.rank == 1)
        text_append(out, TEXT, "[%ld]", element);
    return out;
}

static int by_size(const void *a, const void *b) {
    const Term *x = a, *y = b;
    double p = fabs(x->value * x->slope), q = fabs(y->value * y->slope);
    return (p < q) - (p > q);
}

/* Why a gradient is 0, by record_zero. */
static const char *zero_text(const char *cause) {
    static const char *const reasons[][2] = {
        {"softmax", "this token sees one token only, whose share is always 1"},
        {"cross_entropy", "the loss does not count this place: what comes next is not known"},
        {"hidden", "the mask has set this score to -inf: its share is 0"},
        {"masked_fill", "the mask hides the score: a later token may not be seen"},
        {"linear", "the activation sets every value on its way to 0"},
        {"embedding", "this token does not occur in what is read here"},
        {"positions", "no token stands at this position"}};
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++)
        if (strcmp(reasons[i][0], cause) == 0) return reasons[i][1];
    return "this operation does not depend on it";
}

void step_print_sum(const Tour *w, Node *n, int operand) {
    enum { MAX_TERMS = 12, MAX_OUTPUTS = 1 << 14 };
    const Tensor *x = operand < 0 ? n->out : n->in[operand];
    const char *d = operand < 0 ? "" : "dL/d ";
    char text[TEXT];
    long cell = step_cell(w, x, NULL);
    if (cell < 0 || (operand >= 0 && shape_count(n->out->shape) > MAX_OUTPUTS)) return;
    Arena arena = {0};
    Sum sum = record_sum(&arena, n, operand, cell);
    double value = sum.value + 0.0; /* no -0 */
    step_element(w, x, cell, text);
    if (sum.end)
        step_say(4, "%s%s: 0, because %s (%ld %s)", d, text,
                 zero_text(record_zero(&w->records, sum.end, x, cell)), sum.end->index,
                 sum.end->op->name);
    else if (sum.count == 0)
        step_say(4, "%s = %.8g: the formula is no sum of its operands' elements", text, value);
    else
        step_say(4, "%s%s%s %.8g, the sum of %ld term%s, %s", d, text, operand < 0 ? " =" : ":",
                 value, sum.count, PLURAL(sum.count),
                 operand < 0 ? "operand times slope" : "dL/dy times dy/dx");
    if (sum.end) sum.count = 0;
    qsort(sum.term, (size_t)sum.count, sizeof *sum.term, by_size);
    for (long i = 0; i < sum.count && i < MAX_TERMS; i++) {
        Term t = sum.term[i];
        const Tensor *of = t.operand < 0 ? n->out : n->in[t.operand];
        step_say(6, "%.8g = %.8g, %s%s, times %.8g", t.value * t.slope + 0.0, t.value + 0.0, d,
                 step_element(w, of, t.element, text), t.slope + 0.0);
    }
    if (sum.count > MAX_TERMS) step_say(6, "and %ld smaller terms", sum.count - MAX_TERMS);
    arena_free(&arena);
}
