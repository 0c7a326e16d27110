#include "base/append.h"
#include "base/terminal.h"
#include "explain/screen.h"
#include "explain/steps.h"
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_TERMS = 12 };

/* ---- Text ---- */

void step_say(int indent, const char *format, ...) {
    static const char *const ascii[][2] = {
        {"Σ_", "sum_"}, {"Σ", "sum "},  {"γ", "gamma"}, {"β", "beta"},     {"∂", "d"},
        {"√", "sqrt"},  {"ᵀ", "^T"},    {"·", "*"},     {"\xCC\x82", "^"}, {"Φ", "Phi"},
        {"φ", "phi"},   {"σ", "sigma"}, {"²", "^2"},    {"≤", "<="},       {"…", "..."},
        {"μ", "mu"},    {"ε", "eps"},   {"∞", "inf"},   {"δ", "delta"},    {"×", "x"}};
    enum { SIGNS = sizeof ascii / sizeof *ascii };
    char all[TEXT], line[TEXT];
    size_t used = 0;
    bool unicode = terminal_unicode();
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(all, sizeof all, format, arguments);
    va_end(arguments);
    for (const char *text = all;; text++) {
        int sign = unicode ? SIGNS : 0;
        while (sign < SIGNS && strncmp(text, ascii[sign][0], strlen(ascii[sign][0])) != 0) sign++;
        if (*text == '\n' || !*text) {
            line[used] = 0;
            used = 0;
            print_wrapped(line, indent);
            if (!*text) return;
        } else if (sign < SIGNS) {
            used += (size_t)snprintf(line + used, sizeof line - used, "%s", ascii[sign][1]);
            text += strlen(ascii[sign][0]) - 1;
        } else if (used + 1 < sizeof line) {
            line[used++] = unicode || !(*text & 0x80) ? *text : '?';
        }
    }
}

const char *step_name(const Show *s, const Tensor *x, char out[RECORD_NAME]) {
    size_t prefix = strlen(s->layer);
    record_name(s->records, x, out);
    return strncmp(out, s->layer, prefix) == 0 ? out + prefix : out;
}

bool step_rearranges(const Node *n) {
    return n->op->view || n->op == &op_contiguous;
}

const char *step_call(const Show *s, const Node *n, char out[TEXT]) {
    char input[BACKWARD_INPUT], name[RECORD_NAME];
    const char *comma = "";
    if (step_rearranges(n)) {
        while (step_rearranges(n) && n->in[0]->maker) n = n->in[0]->maker;
        snprintf(out, TEXT, "numbers of %s", step_name(s, n->out, name));
        return out;
    }
    snprintf(out, TEXT, "%s(", n->op->name);
    for (int k = 0; k < n->inputs; k++) {
        if (!n->in[k]) continue;
        const char *letter = backward_input(n, k, input);
        const char *operand = step_name(s, n->in[k], name);
        text_append(out, TEXT, "%s%s%s%s", comma, letter, *letter ? " = " : "", operand);
        comma = ", ";
    }
    text_append(out, TEXT, ")");
    return out;
}

/* ---- Matrices ---- */

/* The part of a tensor that is shown: of one head, or all. Leading axes are rows. */
typedef struct Shown {
    long first, rows, columns;
    const Labels *row_labels, *column_labels;
} Shown;

static Shown shown_of(const Show *s, const Tensor *x) {
    Shape shape = x->shape;
    Axes axes = record_axes(s->records, x);
    int rank = shape.rank;
    long columns = rank ? shape.size[rank - 1] : 1, count = shape_count(shape);
    Shown m = {0, columns ? count / columns : 0, columns, NULL, NULL};
    if (rank == 3 && axes.of[0] == AXIS_HEAD) {
        m.rows = shape.size[1];
        m.first = (s->options->head - 1) * m.rows * columns;
    }
    if (rank >= 1) m.column_labels = record_labels(s->records, axes.of[rank - 1]);
    if (rank >= 2) m.row_labels = record_labels(s->records, axes.of[rank - 2]);
    if (m.row_labels && m.row_labels->count != m.rows) m.row_labels = NULL;
    return m;
}

/* NULL, for numbers, if the terminal cannot show all labels. */
static const char *const *labels_of(const Labels *x) {
    if (!x || terminal_unicode()) return x ? x->of : NULL;
    for (long i = 0; i < x->count; i++)
        for (const char *c = x->of[i]; *c; c++)
            if (*c & 0x80) return NULL;
    return x->of;
}

/* Characters of the longest number. */
static int widest_number(const real *x, long count) {
    double largest = 0;
    for (long i = 0; i < count; i++)
        if (isfinite(x[i])) largest = fmax(largest, fabs((double)x[i]));
    return snprintf(NULL, 0, "-%.4f", largest);
}

/* Which of `count` rows or columns are shown: the first and the last. */
typedef struct Edges {
    long first, last, count;
} Edges;

static bool is_shown(Edges e, long i) {
    return i < e.first || i >= e.count - e.last;
}

static void print_row(const real *x, Edges columns, int cell) {
    for (long j = 0; j < columns.count; j++) {
        if (is_shown(columns, j))
            printf(" %*.4f", cell, (double)x[j]);
        else if (j == columns.first)
            printf(" ...");
    }
    putchar('\n');
}

static void print_head(const char *const *labels, Edges columns, int cell) {
    for (long j = 0; j < columns.count; j++) {
        if (is_shown(columns, j)) {
            putchar(' ');
            label_print(labels, j, cell, true);
        } else if (j == columns.first) {
            printf(" ...");
        }
    }
    putchar('\n');
}

void step_print_matrix(const Show *s, const Tensor *x, const real *values) {
    enum { MAX_ROWS = 3, GAP = 4 };
    Shown m = shown_of(s, x);
    Terminal t = terminal_of(stdout);
    const char *const *rows = labels_of(m.row_labels), *const *columns = labels_of(m.column_labels);
    const real *at = values + m.first;
    bool is_vector = x->shape.rank < 2, full = s->options->full;
    int label = is_vector ? 1 : label_widest(rows, m.rows, MAX_LABEL);
    int cell = widest_number(at, m.rows * m.columns);
    int widest = columns ? label_widest(columns, m.columns, MAX_LABEL) : 0;
    if (widest > cell) cell = widest;
    Edges across = {m.columns, 0, m.columns}, down = {m.rows, 0, m.rows};
    long half = (t.width - label - 2 - GAP) / (cell + 1) / 2;
    if (!full && m.columns > (t.width - label - 2) / (cell + 1))
        across.first = across.last = half > 1 ? half : 1;
    if (!full && m.rows > MAX_ROWS) down.first = down.last = 1;
    if (columns || full) {
        printf("  %*s", label, "");
        print_head(columns, across, cell);
    }
    for (long i = 0; i < m.rows; i++) {
        if (is_shown(down, i)) {
            printf("  %*s", is_vector, "");
            if (!is_vector) label_print(rows, i, label, false);
            print_row(at + i * m.columns, across, cell);
        } else if (i == down.first) {
            printf("  ...\n");
        }
    }
}

void step_print_values(const Show *s, const Tensor *x) {
    Arena arena = {0};
    real *values = arena_alloc(&arena, (size_t)shape_count(x->shape) * sizeof *values);
    tensor_copy_out(x, values);
    step_print_matrix(s, x, values);
    arena_free(&arena);
}

/* ---- Cells ---- */

long step_cell(const Show *s, const Tensor *x) {
    Shown m = shown_of(s, x);
    if (s->row < 0 || s->row >= m.rows || s->column >= m.columns) return -1;
    return m.first + s->row * m.columns + s->column;
}

long step_cell_or_largest(const Show *s, const Tensor *x, const real *values) {
    Shown m = shown_of(s, x);
    long best = m.first, end = m.first + m.rows * m.columns;
    if (s->row >= 0) return step_cell(s, x);
    for (long i = m.first; i < end; i++)
        if (fabs((double)values[i]) > fabs((double)values[best])) best = i;
    return best < end ? best : -1;
}

const char *step_element(const Show *s, const Tensor *x, long element, char out[TEXT]) {
    Shown m = shown_of(s, x);
    char name[RECORD_NAME];
    long row = m.columns ? element / m.columns % m.rows : 0, column = element % m.columns;
    snprintf(out, TEXT, "%s", step_name(s, x, name));
    if (x->shape.rank > 1)
        text_append(out, TEXT, "[%ld,%ld]", row, column);
    else if (x->shape.rank == 1)
        text_append(out, TEXT, "[%ld]", column);
    return out;
}

/* One term of a sum. */
typedef struct Term {
    const Tensor *x;
    long element;
    double value, slope;
} Term;

static int by_size(const void *a, const void *b) {
    const Term *x = a, *y = b;
    double p = fabs(x->value * x->slope), q = fabs(y->value * y->slope);
    return (p < q) - (p > q);
}

/* Prints the largest terms; d: what is before a tensor's name. */
static void print_terms(const Show *s, Term *term, long count, const char *d) {
    char text[TEXT];
    qsort(term, (size_t)count, sizeof *term, by_size);
    for (long i = 0; i < count && i < MAX_TERMS; i++)
        step_say(6, "%.8g = %.8g, %s%s, times %.8g", term[i].value * term[i].slope + 0.0,
                 term[i].value + 0.0, d, step_element(s, term[i].x, term[i].element, text),
                 term[i].slope + 0.0);
    if (count > MAX_TERMS) step_say(6, "and %ld smaller terms", count - MAX_TERMS);
}

void step_print_forward_cell(const Show *s, Node *n) {
    long cell = step_cell(s, n->out);
    if (cell < 0) return;
    Arena arena = {0};
    char text[TEXT];
    ForwardSum sum = forward_sum(&arena, n, cell);
    Term *term = arena_alloc(&arena, (size_t)(sum.count + 1) * sizeof *term);
    for (long i = 0; i < sum.count; i++) {
        ForwardTerm t = sum.term[i];
        term[i] = (Term){n->in[t.operand], t.element, (double)t.value, (double)t.slope};
    }
    step_element(s, n->out, cell, text);
    if (sum.count)
        step_say(4, "%s = %.8g, the sum of %ld term%s, operand times slope", text,
                 (double)sum.value + 0.0, sum.count, PLURAL(sum.count));
    else
        step_say(4, "%s = %.8g: the formula is no sum of its operands' elements", text,
                 (double)sum.value + 0.0);
    print_terms(s, term, sum.count, "");
    arena_free(&arena);
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

void step_print_added_cell(const Show *s, Node *n, int k, const real *added) {
    enum { MAX_OUTPUTS = 1 << 14 };
    const Tensor *x = n->in[k];
    long cell = step_cell(s, x), count;
    if (cell < 0 || shape_count(n->out->shape) > MAX_OUTPUTS) return;
    Arena arena = {0};
    char text[TEXT];
    const BackwardTerm *found = backward_terms(&arena, n, k, cell, &count);
    Term *term = arena_alloc(&arena, (size_t)(count + 1) * sizeof *term);
    for (long i = 0; i < count; i++)
        term[i] = (Term){n->out, found[i].at, (double)found[i].dy, (double)found[i].slope};
    const Node *end = backward_end(n, k, cell);
    step_element(s, x, cell, text);
    if (end)
        step_say(4, "dL/d %s: 0, because %s (%ld %s)", text,
                 zero_text(record_zero(s->records, end, x, cell)), end->index, end->op->name);
    else
        step_say(4, "dL/d %s: %.8g, the sum of %ld term%s, dL/dy times dy/dx", text,
                 (double)added[cell] + 0.0, count, PLURAL(count));
    if (!end) print_terms(s, term, count, "dL/d ");
    arena_free(&arena);
}
