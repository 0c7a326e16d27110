/* The walk on a terminal: its contents, then matrices, formulas and sums; forward, or in reverse
 * with gradients. */
#include "explain/steps.h"
#include "base/append.h"
#include "base/terminal.h"
#include "explain/map.h"
#include "explain/show.h"
#include "explain/walk_records.h"
#include "training/optimizer.h"
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT = 1600, MAX_TERMS = 12, MAX_LABEL = 12, MAX_NAMES = 40 };
#define LEARNING_RATE 0.001

typedef struct Show {
    const Records *records;
    const Pass *pass;
    const StepOptions *options;
    long row, column;             /* of --cell; -1: none */
    char layer[PARAMETER_NAME];   /* the first: "encoder.layers.0."; "": there are no layers */
    long first_layer, last_layer; /* the first and the last record of a layer */
    bool everywhere;              /* --step is in other layers alone */
} Show;

/* ---- Text ---- */

/* Prints lines in the characters of the terminal, broken at its width. */
__attribute__((format(printf, 2, 3))) static void say(int indent, const char *format, ...) {
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
            show_wrapped(line, indent);
            if (!*text) return;
        } else if (sign < SIGNS) {
            used += (size_t)snprintf(line + used, sizeof line - used, "%s", ascii[sign][1]);
            text += strlen(ascii[sign][0]) - 1;
        } else if (used + 1 < sizeof line) {
            line[used++] = unicode || !(*text & 0x80) ? *text : '?';
        }
    }
}

/* A tensor's name; a parameter's without that of the shown layer. */
static const char *short_name(const Show *s, const Tensor *x, char out[RECORD_NAME]) {
    size_t prefix = strlen(s->layer);
    record_name(s->records, x, out);
    return strncmp(out, s->layer, prefix) == 0 ? out + prefix : out;
}

/* Whether the record only arranges the numbers of another. */
static bool rearranges(const Node *n) {
    return n->op->view || n->op == &op_contiguous;
}

/* "matmul(a = Q, b = K^T)" */
static const char *call_text(const Show *s, const Node *n, char out[TEXT]) {
    char input[BACKWARD_INPUT], name[RECORD_NAME];
    const char *comma = "";
    if (rearranges(n)) {
        while (rearranges(n) && n->in[0]->maker) n = n->in[0]->maker;
        snprintf(out, TEXT, "numbers of %s", short_name(s, n->out, name));
        return out;
    }
    snprintf(out, TEXT, "%s(", n->op->name);
    for (int k = 0; k < n->inputs; k++) {
        if (!n->in[k]) continue;
        const char *letter = backward_input(n, k, input);
        const char *operand = short_name(s, n->in[k], name);
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

static void print_head(const char *const *labels, Edges columns, int cell, bool unicode) {
    for (long j = 0; j < columns.count; j++) {
        if (is_shown(columns, j)) {
            putchar(' ');
            label_padded(stdout, map_label(labels, j, MAX_LABEL, unicode), cell, true);
        } else if (j == columns.first) {
            printf(" ...");
        }
    }
    putchar('\n');
}

/* Prints the shown part of x, with other values than its own. Without --full, rows and columns in
 * the middle are left out. */
static void print_matrix(const Show *s, const Tensor *x, const real *values) {
    enum { MAX_ROWS = 3, GAP = 4 };
    Shown m = shown_of(s, x);
    Terminal t = terminal_of(stdout);
    const char *const *rows = labels_of(m.row_labels), *const *columns = labels_of(m.column_labels);
    const real *at = values + m.first;
    bool is_vector = x->shape.rank < 2, full = s->options->full;
    int label = is_vector ? 1 : map_widest(rows, m.rows, MAX_LABEL, t.unicode);
    int cell = widest_number(at, m.rows * m.columns);
    int widest = columns ? map_widest(columns, m.columns, MAX_LABEL, t.unicode) : 0;
    if (widest > cell) cell = widest;
    Edges across = {m.columns, 0, m.columns}, down = {m.rows, 0, m.rows};
    long half = (t.width - label - 2 - GAP) / (cell + 1) / 2;
    if (!full && m.columns > (t.width - label - 2) / (cell + 1))
        across.first = across.last = half > 1 ? half : 1;
    if (!full && m.rows > MAX_ROWS) down.first = down.last = 1;
    if (columns || full) {
        printf("  %*s", label, "");
        print_head(columns, across, cell, t.unicode);
    }
    for (long i = 0; i < m.rows; i++) {
        if (is_shown(down, i)) {
            Label name = is_vector ? (Label){0} : map_label(rows, i, MAX_LABEL, t.unicode);
            printf("  ");
            label_padded(stdout, name, label, false);
            print_row(at + i * m.columns, across, cell);
        } else if (i == down.first) {
            printf("  ...\n");
        }
    }
}

/* Prints x's own values. */
static void print_values(const Show *s, const Tensor *x) {
    Arena arena = {0};
    real *values = arena_alloc(&arena, (size_t)shape_count(x->shape) * sizeof *values);
    tensor_copy_out(x, values);
    print_matrix(s, x, values);
    arena_free(&arena);
}

/* ---- Cells ---- */

/* The element of --cell in the shown part of x; -1: it is outside, or there is no --cell. */
static long cell_of(const Show *s, const Tensor *x) {
    Shown m = shown_of(s, x);
    if (s->row < 0 || s->row >= m.rows || s->column >= m.columns) return -1;
    return m.first + s->row * m.columns + s->column;
}

/* The element of --cell, or of the largest value in the shown part. */
static long cell_or_largest(const Show *s, const Tensor *x, const real *values) {
    Shown m = shown_of(s, x);
    long best = m.first, end = m.first + m.rows * m.columns;
    if (s->row >= 0) return cell_of(s, x);
    for (long i = m.first; i < end; i++)
        if (fabs((double)values[i]) > fabs((double)values[best])) best = i;
    return best < end ? best : -1;
}

/* "Q[1,2]", with rows and columns of the head that the element is in. */
static const char *element_text(const Show *s, const Tensor *x, long element, char out[TEXT]) {
    Shown m = shown_of(s, x);
    char name[RECORD_NAME];
    long row = m.columns ? element / m.columns % m.rows : 0, column = element % m.columns;
    snprintf(out, TEXT, "%s", short_name(s, x, name));
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
        say(6, "%.8g = %.8g, %s%s, times %.8g", term[i].value * term[i].slope + 0.0,
            term[i].value + 0.0, d, element_text(s, term[i].x, term[i].element, text),
            term[i].slope + 0.0);
    if (count > MAX_TERMS) say(6, "and %ld smaller terms", count - MAX_TERMS);
}

static void print_forward_cell(const Show *s, Node *n) {
    long cell = cell_of(s, n->out);
    if (cell < 0) return;
    Arena arena = {0};
    char text[TEXT];
    ForwardSum sum = forward_sum(&arena, n, cell);
    Term *term = arena_alloc(&arena, (size_t)(sum.count + 1) * sizeof *term);
    for (long i = 0; i < sum.count; i++) {
        ForwardTerm t = sum.term[i];
        term[i] = (Term){n->in[t.operand], t.element, (double)t.value, (double)t.slope};
    }
    element_text(s, n->out, cell, text);
    if (sum.count)
        say(4, "%s = %.8g, the sum of %ld term%s, operand times slope", text,
            (double)sum.value + 0.0, sum.count, PLURAL(sum.count));
    else
        say(4, "%s = %.8g: the formula is no sum of its operands' elements", text,
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

/* One cell of what node n adds to the gradient of operand k. */
static void print_added_cell(const Show *s, Node *n, int k, const real *added) {
    enum { MAX_OUTPUTS = 1 << 14 };
    const Tensor *x = n->in[k];
    long cell = cell_of(s, x), count;
    if (cell < 0 || shape_count(n->out->shape) > MAX_OUTPUTS) return;
    Arena arena = {0};
    char text[TEXT];
    const BackwardTerm *found = backward_terms(&arena, n, k, cell, &count);
    Term *term = arena_alloc(&arena, (size_t)(count + 1) * sizeof *term);
    for (long i = 0; i < count; i++)
        term[i] = (Term){n->out, found[i].at, (double)found[i].dy, (double)found[i].slope};
    const Node *end = backward_end(n, k, cell);
    element_text(s, x, cell, text);
    if (end)
        say(4, "dL/d %s: 0, because %s (%ld %s)", text,
            zero_text(record_zero(s->records, end, x, cell)), end->index, end->op->name);
    else
        say(4, "dL/d %s: %.8g, the sum of %ld term%s, dL/dy times dy/dx", text,
            (double)added[cell] + 0.0, count, PLURAL(count));
    if (!end) print_terms(s, term, count, "dL/d ");
    arena_free(&arena);
}

/* ---- Steps ---- */

/* A step is a record that is more than other records' numbers in another order. */
static bool is_step(const Records *r, const Node *n) {
    if (nn_trace_name_of(r->trace, n->out)) return true;
    return !rearranges(n);
}

static bool is_chosen(const Show *s, const Record *record) {
    const StepOptions *o = s->options;
    char name[RECORD_NAME], index[24];
    const Node *n = record->node;
    if (o->backward && !record_reached(n)) return false;
    if (o->module && strncmp(record->module, o->module, strlen(o->module)) != 0) return false;
    bool outside = n->index < s->first_layer || n->index > s->last_layer;
    bool here = o->module || s->everywhere || outside ||
                strncmp(record->module, s->layer, strlen(s->layer)) == 0;
    if (!o->step) return here && is_step(s->records, n);
    snprintf(index, sizeof index, "%ld", n->index);
    if (strcmp(o->step, index) == 0) return true;
    return here && (strcmp(o->step, record_name(s->records, n->out, name)) == 0 ||
                    strcmp(o->step, n->op->name) == 0);
}

/* The i-th record in the order of the walk. */
static const Record *record_at(const Show *s, long i) {
    const Records *r = s->records;
    return &r->of[s->options->backward ? r->count - 1 - i : i];
}

/* Prints formulas, as many on a line as fit. */
static void print_formula(const char *formula) {
    enum { INDENT = 4 };
    char line[RECORD_FORMULA] = "";
    while (*formula) {
        size_t length = strcspn(formula, "\n");
        bool fits = strlen(line) + length + INDENT + 3 < (size_t)terminal_of(stdout).width;
        if (*line && !fits) {
            say(INDENT, "%s", line);
            *line = 0;
        }
        text_append(line, sizeof line, "%s%.*s", *line ? "; " : "", (int)length, formula);
        formula += length + (formula[length] == '\n');
    }
    if (*line) say(INDENT, "%s", line);
}

static void print_forward_step(const Show *s, const Record *record) {
    Node *n = record->node;
    char name[RECORD_NAME], call[TEXT], formula[RECORD_FORMULA];
    say(0, "%ld %s = %s, %s", n->index, short_name(s, n->out, name), call_text(s, n, call),
        shape_text(n->out->shape));
    if (!rearranges(n)) print_formula(record_formula(n, false, formula));
    print_values(s, n->out);
    print_forward_cell(s, n);
}

static void print_difference(const Show *s, Node *n) {
    long cell = n->op->view ? -1 : cell_or_largest(s, n->out, n->out->grad);
    char text[TEXT];
    if (cell < 0) return;
    element_text(s, n->out, cell, text);
    if (!isfinite(n->out->data[cell])) {
        say(4, "dL/d %s: 0; the value is -inf, set by the mask, and cannot be pushed", text);
        return;
    }
    Sweep found = backward_difference(n, cell);
    say(4, "dL/d %s: %.10g; by differences %.10g, with an error of about %.1e", text,
        (double)n->out->grad[cell] + 0.0, found.value + 0.0, found.error);
}

/* A gradient that has one part alone is shown where it arrives. */
static void print_additions(const Show *s, Node *n) {
    const StepOptions *o = s->options;
    char name[RECORD_NAME], part[48] = "";
    for (int k = 0; k < n->inputs; k++) {
        if (!backward_reaches(n, k)) continue;
        const Tensor *x = n->in[k];
        Arena arena = {0};
        long visited, parts = record_parts(s->records, x, n->index, &visited);
        if (parts > 1) snprintf(part, sizeof part, ", part %ld of %ld", visited, parts);
        say(2, "adds to dL/d %s, %s%s", short_name(s, x, name), shape_text(x->shape),
            parts > 1 ? part : "");
        const real *added = backward_part(&arena, n, k);
        if (!n->op->view && (o->full || o->step || !x->maker)) print_matrix(s, x, added);
        if (!n->op->view) print_added_cell(s, n, k, added);
        arena_free(&arena);
    }
}

static void print_backward_step(const Show *s, const Record *record) {
    Node *n = record->node;
    const Derivation *d = backward_derivation(n->op);
    char name[RECORD_NAME], call[TEXT], formula[RECORD_FORMULA];
    long visited, parts = record_parts(s->records, n->out, 0, &visited);
    short_name(s, n->out, name);
    say(0, "%ld dL/d %s, %s, of %s = %s", n->index, name, shape_text(n->out->shape), name,
        call_text(s, n, call));
    if (parts > 1) say(2, "the sum of %ld parts", parts);
    print_matrix(s, n->out, n->out->grad);
    print_difference(s, n);
    print_formula(record_formula(n, true, formula));
    if (d && *d->keeps) say(4, "%s", d->keeps);
    print_additions(s, n);
}

/* ---- Contents ---- */

static void print_tokens(const char *side, const PassText *x) {
    enum { MAX_TOKENS = 40 };
    Terminal t = terminal_of(stdout);
    int column = printf("%s:", side);
    for (long i = 0; i < x->count && i < MAX_TOKENS; i++) {
        Label label = label_of(x->labels.of[i], MAX_LABEL, t.unicode);
        int width = 2 + label.columns + snprintf(NULL, 0, "%d", (int)x->id[i]);
        bool breaks = column + width > t.width;
        printf(breaks ? "\n  " : " ");
        label_write(stdout, &label);
        printf("=%d", (int)x->id[i]);
        column = (breaks ? 1 : column) + width;
    }
    puts(x->count > MAX_TOKENS ? "\n  ..." : "");
}

/* "embedding" and "encoder.layers.0" of longer names. */
static int part_length(const char *module) {
    const char *layers = strstr(module, ".layers.");
    if (!layers) return (int)strlen(module);
    size_t number = strlen(".layers.");
    return (int)(layers - module) + (int)(number + strcspn(layers + number, "."));
}

/* A line of the contents for records that are not shown, up to the next that is. Returns how many
 * they are. */
static long print_gap(const Show *s, long first) {
    char modules[MAX_NAMES][PARAMETER_NAME], last[PARAMETER_NAME] = "", text[TEXT] = "";
    long end = first, steps = 0;
    int count = 0;
    for (; end < s->records->count && !is_chosen(s, record_at(s, end)); end++) {
        const Record *r = record_at(s, end);
        steps += is_step(s->records, r->node);
        int length = part_length(r->module);
        bool is_new = (int)strlen(last) != length || strncmp(last, r->module, (size_t)length) != 0;
        if (!is_new || !is_step(s->records, r->node) || count == MAX_NAMES) continue;
        snprintf(last, sizeof last, "%.*s", length, r->module);
        snprintf(modules[count++], PARAMETER_NAME, "%s", last);
    }
    bool inside = count == 1 && strncmp(modules[0], s->layer, strlen(modules[0])) == 0;
    if (steps == 0 || inside) return end - first;
    text_append(text, TEXT, "%s", modules[0]);
    if (count > 1) text_append(text, TEXT, " to %s", modules[count - 1]);
    say(2, "... %ld step%s of %s", steps, PLURAL(steps), text);
    return end - first;
}

/* "  20 A              [4,3,3]   Row i: …"; on a narrow terminal the sentence is a line of its own.
 */
static void print_entry(const char *name, const char *shape, const char *sentence) {
    enum { NAME = 20, SHAPE = 10 };
    printf("%-*s%s%-*s", NAME, name, strlen(name) < NAME ? "" : " ", SHAPE, shape);
    if (NAME + SHAPE + (int)strlen(sentence) < terminal_of(stdout).width) {
        puts(sentence);
        return;
    }
    putchar('\n');
    show_wrapped(sentence, 6);
}

static void print_contents(const Show *s) {
    const Records *r = s->records;
    const StepOptions *o = s->options;
    const ModelConfig *c = &r->model->config;
    char name[RECORD_NAME];
    say(0, "%s, d_model %d, %d heads of d_k %ld; head %ld is shown",
        o->pass.run ? o->pass.run : "random weights", c->d_model, c->heads, config_d_k(c), o->head);
    const PassText *source = &s->pass->source;
    if (source->count && source->id != s->pass->target.id) print_tokens("source", source);
    print_tokens("tokens", &s->pass->target);
    if (o->backward) say(0, "backward from L = %.6g", (double)*records_loss(r)->data);
    for (long i = 0; i < r->count; i++) {
        if (!is_chosen(s, record_at(s, i))) {
            i += print_gap(s, i) - 1;
            continue;
        }
        const Node *n = record_at(s, i)->node;
        char head[RECORD_NAME + 64];
        snprintf(head, sizeof head, "%4ld %s%s", n->index, o->backward ? "dL/d " : "",
                 short_name(s, n->out, name));
        print_entry(head, shape_text(n->out->shape), record_sentence(r, n));
    }
}

static void print_next(const Show *s) {
    const StepOptions *o = s->options;
    static const char *const next[][2] = {
        {"./explain --step S --cell 0,1", "Next, the sum behind a number"},
        {"./explain --backward", "the way back from the loss"},
        {"./explain --module decoder.layers.0", "a layer of the decoder"},
        {"./explain --characters", "the fifteen characters of a verse"},
        {"./explain scaling", "why scores are scaled"}};
    if (o->pass.run || o->step || o->module || o->backward) return;
    putchar('\n');
    for (size_t i = 0; i < sizeof next / sizeof *next; i++)
        say(0, "%s: %s", next[i][1], next[i][0]);
}

/* ---- The update ---- */

/* AdamW's first step of one weight: the largest gradient of the first matrix of the shown layer. */
typedef struct FirstStep {
    const Parameter *weight;
    long at;
    double norm, scale, g, m, v, before, after;
} FirstStep;

static bool find_update(const Show *s, FirstStep *u, Optimizer *o, Error *e) {
    Parameters *p = &s->records->model->parameters;
    *u = (FirstStep){.scale = 1};
    for (int i = p->count - 1; i >= 0; i--) {
        const Parameter *each = &p->entry[i];
        if (each->shape.rank == 2 && strncmp(each->name, s->layer, strlen(s->layer)) == 0)
            u->weight = each;
    }
    if (!u->weight || !optim_start(o, p, e)) return false;
    Tensor x = {.shape = u->weight->shape};
    long cell = cell_or_largest(s, &x, p->grad + u->weight->offset);
    u->at = cell < 0 ? 0 : cell;
    long index = u->weight->offset + u->at;
    u->norm = optim_clip(o, p, &u->scale);
    u->g = (double)p->grad[index];
    u->before = (double)p->value[index];
    optim_update(o, p, LEARNING_RATE, u->scale);
    u->m = (double)o->moment1[index];
    u->v = (double)o->moment2[index];
    u->after = (double)p->value[index];
    optim_stop(o);
    return true;
}

static bool show_update(const Show *s, Error *e) {
    Optimizer o = optim_default(&optimizer_adamw);
    FirstStep u;
    if (!find_update(s, &u, &o, e)) return e->status == STATUS_DONE;
    long columns = u.weight->shape.size[1];
    if (s->options->json) {
        printf("{\"update\": \"%s\", \"at\": %ld, \"g\": %.17g, \"norm\": %.17g, \"scale\": %.17g, "
               "\"m\": %.17g, \"v\": %.17g, \"before\": %.17g, \"after\": %.17g}\n",
               u.weight->name, u.at, u.g, u.norm, u.scale, u.m, u.v, u.before, u.after);
        return true;
    }
    char name[RECORD_NAME];
    const char *weight = short_name(s, u.weight->part[0], name);
    say(0, "\nThe update: AdamW, step 1, of w = %s[%ld,%ld]", weight, u.at / columns,
        u.at % columns);
    say(2, "clip: the norm of all gradients is %.6g; %s %g: g' = %.6g·g = %.6g, g = %.6g", u.norm,
        u.scale < 1 ? "it is cut to" : "it may be up to", o.clip_norm, u.scale, u.scale * u.g, u.g);
    say(2, "moments: m = %g·0 + %g·g' = %.6g, v = %g·0 + %g·g'^2 = %.6g", o.beta1, 1 - o.beta1, u.m,
        o.beta2, 1 - o.beta2, u.v);
    say(2, "correction: m^ = m / (1 - %g) = %.6g, v^ = v / (1 - %g) = %.6g", o.beta1,
        u.m / (1 - o.beta1), o.beta2, u.v / (1 - o.beta2));
    say(2, "step: w = %.8g - %g·m^ / (sqrt(v^) + %g) = %.8g, with a weight decay of %g", u.before,
        LEARNING_RATE, adamw_epsilon, u.after, o.weight_decay);
    return true;
}

/* ---- All ---- */

static bool read_cell(Show *s, const char *text, Error *e) {
    char end;
    s->row = s->column = -1;
    if (!text) return true;
    int read = sscanf(text, "%ld,%ld%c", &s->row, &s->column, &end);
    if (read == 2 && s->row >= 0 && s->column >= 0) return true;
    return error_set(e, STATUS_USAGE, "--cell: found \"%s\", need ROW,COLUMN, from 0",
                     ESCAPED(text));
}

/* Adds a word to a list, unless it is there. */
static void add_word(char list[TEXT], const char *word) {
    char entry[RECORD_NAME + 4];
    snprintf(entry, sizeof entry, " %s,", word);
    if (!strstr(list, entry)) text_append(list, TEXT, "%s ", entry + 1);
}

static bool any_chosen(const Show *s) {
    for (long i = 0; i < s->records->count; i++)
        if (is_chosen(s, &s->records->of[i])) return true;
    return false;
}

/* Why nothing is chosen. */
static bool nothing_chosen(const Show *s, Error *e) {
    const StepOptions *o = s->options;
    char steps[TEXT] = " ", modules[TEXT] = " ", name[RECORD_NAME], part[PARAMETER_NAME];
    for (long i = 0; i < s->records->count; i++) {
        const Record *r = &s->records->of[i];
        snprintf(part, sizeof part, "%.*s", part_length(r->module), r->module);
        add_word(modules, part);
        if (o->module && strncmp(r->module, o->module, strlen(o->module)) != 0) continue;
        if (!is_step(s->records, r->node)) continue;
        add_word(steps, record_name(s->records, r->node->out, name));
        add_word(steps, r->node->op->name);
    }
    if (!o->step || strlen(steps) < 2)
        return error_set(e, STATUS_USAGE, "--module: found \"%s\", need one of%.*s",
                         ESCAPED(o->module), (int)strlen(modules) - 2, modules);
    return error_set(e, STATUS_USAGE, "--step: found \"%s\", need one of%.*s", ESCAPED(o->step),
                     (int)strlen(steps) - 2, steps);
}

/* Whether --cell is an element of a shown matrix. */
static bool check_cell(const Show *s, Error *e) {
    if (s->row < 0) return true;
    for (long i = 0; i < s->records->count; i++) {
        const Record *r = &s->records->of[i];
        if (!is_chosen(s, r)) continue;
        if (cell_of(s, r->node->out) >= 0) return true;
        if (!s->options->backward) continue;
        for (int k = 0; k < r->node->inputs; k++)
            if (r->node->in[k] && cell_of(s, r->node->in[k]) >= 0) return true;
    }
    return error_set(e, STATUS_USAGE, "--cell: found %s, need an element of a matrix that is shown",
                     s->options->cell);
}

static void find_layer(Show *s) {
    const Records *r = s->records;
    const char *wanted = s->options->module ? s->options->module : "";
    s->first_layer = r->count;
    for (long i = 0; i < r->count; i++) {
        const char *module = r->of[i].module;
        if (!strstr(module, ".layers.")) continue;
        s->last_layer = i;
        if (s->first_layer == r->count) s->first_layer = i;
        if (!*s->layer && strncmp(module, wanted, strlen(wanted)) == 0)
            snprintf(s->layer, sizeof s->layer, "%.*s.", part_length(module), module);
    }
}

static void print_json(const Show *s) {
    const Records *r = s->records;
    const StepOptions *o = s->options;
    bool all = !o->step && !o->module;
    if (all) {
        records_json_head(r, o->backward);
        records_json_parameters(r, o->backward);
    }
    for (long i = 0; i < r->count; i++) {
        const Record *record = record_at(s, i);
        Node *n = record->node;
        bool shown = all ? !o->backward || record_reached(n) : is_chosen(s, record);
        if (!shown) continue;
        record_json(r, n->index, o->backward);
        long cell = cell_of(s, n->out);
        if (cell >= 0 && !o->backward) record_json_cell(r, n->index, cell);
        if (cell >= 0 && o->backward && !n->op->view && isfinite(n->out->data[cell]))
            record_json_difference(r, n->index, cell);
        if (!o->backward) continue;
        for (int k = 0; k < n->inputs; k++)
            if (backward_reaches(n, k) && cell_of(s, n->in[k]) >= 0)
                record_json_addition(r, n->index, k, cell_of(s, n->in[k]));
    }
}

static void print_all(const Show *s) {
    bool is_later = !s->options->step;
    if (is_later) print_contents(s);
    for (long i = 0; i < s->records->count; i++) {
        const Record *record = record_at(s, i);
        if (!is_chosen(s, record)) continue;
        if (is_later) putchar('\n');
        is_later = true;
        if (s->options->backward)
            print_backward_step(s, record);
        else
            print_forward_step(s, record);
    }
    print_next(s);
}

static bool show(Show *s, Error *e) {
    const StepOptions *o = s->options;
    find_layer(s);
    if (!read_cell(s, o->cell, e)) return false;
    s->everywhere = !any_chosen(s);
    if (!any_chosen(s)) return nothing_chosen(s, e);
    if (!check_cell(s, e)) return false;
    if (o->json)
        print_json(s);
    else
        print_all(s);
    return !o->backward || o->step || show_update(s, e);
}

bool explain_steps(const StepOptions *o, Error *e) {
    Pass p;
    Records r;
    bool ok = pass_open(&p, &o->pass, e), merges = o->step && strcmp(o->step, "merges") == 0;
    if (ok && merges) {
        ok = pass_print_merges(&p, o->json, e);
    } else if (ok) {
        pass_records(&p, &r);
        ok = pass_has_head(&p, o->head, e) && (!o->backward || records_backward(&r, e)) &&
             show(&(Show){.records = &r, .pass = &p, .options = o}, e);
    }
    pass_close(&p);
    return ok;
}
