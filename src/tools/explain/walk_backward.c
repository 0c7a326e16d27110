/* The walk backward: from the loss of predicting each next token to the embedding, in the order in which the tape visits
 * its records; then the update of one weight. Every number is the tape's, or computed by the operation's own backward. */
#include "explain/walk_backward.h"
#include "base/append.h"
#include "base/terminal.h"
#include "explain/show.h"
#include "explain/walk_records.h"
#include "training/optimizer.h"
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CELL = 64, PART = 40, LINES = 800, MAX_TERMS = 12, MAX_ARGUMENTS = 160 };
#define LEARNING_RATE 0.001

/* Shows one layer, and one attention of it. */
static bool is_shown(const Backward *b, long i) {
    const WalkThrough *w = b->w;
    const WalkOptions *o = w->options;
    const char *place = b->place[i];
    if (o->step && strcmp(b->node[i]->op->name, o->step) != 0) return false;
    if (!strstr(place, ".layers.")) return true;
    if (strncmp(place, w->layer, strlen(w->layer)) != 0) return false;
    return !strstr(place, "_attn") ||
           strncmp(place, w->attention->name, strlen(w->attention->name)) == 0;
}

/* ---- Text ---- */

/* Prints lines in the characters of the terminal, broken at its width. */
__attribute__((format(printf, 2, 3))) static void say(int indent, const char *format, ...) {
    static const char *const ascii[][2] = {
        {"Σ", "sum"}, {"γ", "gamma"},    {"β", "beta"}, {"∂", "d"},   {"√", "sqrt "}, {"ᵀ", "^T"},
        {"·", "*"},   {"\xCC\x82", "^"}, {"Φ", "Phi"},  {"φ", "phi"}, {"σ", "sigma"}, {"²", "^2"},
        {"≤", "<="},  {"…", "..."},      {"μ", "mu"},   {"ε", "eps"}};
    enum { SIGNS = sizeof ascii / sizeof *ascii };
    char all[LINES], line[LINES], *text = all;
    size_t used = 0;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(all, sizeof all, format, arguments);
    va_end(arguments);
    for (;; text++) {
        int sign = terminal_unicode() ? SIGNS : 0;
        while (sign < SIGNS && strncmp(text, ascii[sign][0], strlen(ascii[sign][0])) != 0) sign++;
        if (*text == '\n' || !*text) {
            line[used] = 0;
            used = 0;
            show_wrapped(line, indent);
            if (!*text) return;
        } else if (sign < SIGNS) {
            used += (size_t)snprintf(line + used, sizeof line - used, "%s", ascii[sign][1]);
            text += strlen(ascii[sign][0]) - 1;
        } else {
            line[used++] = *text;
        }
    }
}

/* The shown head's matrix, if x has one a head: tokens name its rows or columns. The leading axes of others are one. */
typedef struct Shown {
    long at, rows, columns;
} Shown;

static Shown shown_of(const Backward *b, const Tensor *x) {
    Shape s = x->shape;
    long heads = b->w->run.model->config.heads, count = shape_count(s);
    bool named = walk_backward_tokens(b, x, false) || walk_backward_tokens(b, x, true);
    bool by_head = s.rank > 2 && s.size[0] == heads && named;
    long columns = s.rank ? s.size[s.rank - 1] : 1, each = by_head ? count / heads : count;
    return (Shown){by_head ? (b->w->options->head - 1) * each : 0, columns ? each / columns : 0,
                   columns};
}

static void print_matrix(const Backward *b, const Tensor *x, const real *values) {
    static const char *no_label = "";
    static const WalkText vector = {.count = 1, .label = &no_label};
    Shown m = shown_of(b, x);
    Tensor matrix = tensor_over((real *)(uintptr_t)values + m.at, SHAPE(m.rows, m.columns));
    walk_print_numbers(
        b->w->options,
        &(WalkMatrix){"backward", .value = &matrix,
                      .rows = x->shape.rank < 2 ? &vector : walk_backward_tokens(b, x, false),
                      .columns = walk_backward_tokens(b, x, true)});
}

/* 0 has no sign here. */
static double product(BackwardTerm t) {
    return (double)(t.dy * t.slope) + 0.0;
}

long walk_backward_parts(const Backward *b, const Tensor *x, long at, long *visited) {
    long parts = 0;
    *visited = 0;
    for (long i = b->count - 1; i >= 0; i--)
        for (int k = 0; k < b->node[i]->inputs; k++) {
            if (b->node[i]->in[k] != x || !walk_backward_reached(b->node[i]) ||
                !backward_reaches(b->node[i], k))
                continue;
            parts++;
            *visited += i >= at;
        }
    return parts;
}

/* "[1,2]", of the matrix of the shown head. */
static const char *cell_text(const Backward *b, const Tensor *x, long cell, char out[CELL]) {
    Shown m = shown_of(b, x);
    if (m.rows == 1)
        snprintf(out, CELL, "[%ld]", (cell - m.at) % m.columns);
    else
        snprintf(out, CELL, "[%ld,%ld]", (cell - m.at) / m.columns, (cell - m.at) % m.columns);
    return out;
}

long walk_backward_cell(const Backward *b, const Tensor *x, const real *values) {
    Shown m = shown_of(b, x);
    long best = m.at;
    if (b->row >= 0) {
        bool inside = b->row < m.rows && b->column < m.columns;
        return inside ? m.at + b->row * m.columns + b->column : -1;
    }
    for (long i = m.at; i < m.at + m.rows * m.columns; i++)
        if (fabs((double)values[i]) > fabs((double)values[best])) best = i;
    return best < m.at + m.rows * m.columns ? best : -1;
}

BackwardTerm *walk_backward_terms(const Backward *b, long i, int k, const real *values, long *cell,
                                  long *count) {
    enum { MAX = 1 << 14 };
    *cell = walk_backward_cell(b, b->node[i]->in[k], values);
    if (*cell < 0 || shape_count(b->node[i]->out->shape) > MAX) return NULL;
    return backward_terms(&b->w->arena, b->node[i], k, *cell, count);
}

const char *walk_backward_cause(const Backward *b, const Node *end, const Tensor *x, long cell) {
    if (x == &b->w->run.model->positions) return "positions";
    if (x == b->w->attention->steps->masked && isinf(x->data[cell])) return "hidden";
    return end->op->name;
}

/* A cause in words: as the page's sentences zero_CAUSE (web/texts.js). */
static const char *cause_text(const char *cause) {
    static const char *const reasons[][2] = {
        {"softmax",
         "this token sees one token only: there is one score, and its share is always 1"},
        {"cross_entropy", "the loss does not count this place: the text ends here, and what comes "
                          "next is not known"},
        {"hidden",
         "the mask has set this score to -inf: its share is 0, whatever the gradient that arrives"},
        {"masked_fill", "the mask hides the score: a later token may not be seen, so the loss "
                        "cannot depend on it"},
        {"linear",
         "the ReLU sets every hidden value on its way to 0, and a small change changes nothing"},
        {"embedding", "this token does not occur in what is read here"},
        {"positions", "what is read here is not as long: no token stands at this position"}};
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++)
        if (strcmp(reasons[i][0], cause) == 0) return reasons[i][1];
    return "this operation does not depend on it";
}

/* The sum of one cell of what node i adds to input k: its terms, the largest first. */
static void print_terms(const Backward *b, long i, int k, const real *values) {
    const Node *n = b->node[i];
    long cell, terms;
    BackwardTerm *term = walk_backward_terms(b, i, k, values, &cell, &terms);
    char at[CELL], name[BACKWARD_NAME];
    if (!term) return;
    const Node *end = backward_end(b->node[i], k, cell);
    cell_text(b, n->in[k], cell, at);
    if (end)
        say(4, "%s of it: 0, because %s (%ld %s)", at,
            cause_text(walk_backward_cause(b, end, n->in[k], cell)), end->index, end->op->name);
    else
        say(4, "%s of it: %.8g = sum of %ld term%s dL/dy times dy/dx", at, (double)values[cell],
            terms, PLURAL(terms));
    if (end) terms = 0;
    for (long shown = 0; shown < terms && shown < MAX_TERMS; shown++) {
        long best = shown;
        for (long j = shown; j < terms; j++)
            if (fabs(product(term[j])) > fabs(product(term[best]))) best = j;
        BackwardTerm t = term[best];
        term[best] = term[shown], term[shown] = t;
        say(6, "%.8g = %.8g, dL/d %s%s, times %.8g", product(t), (double)t.dy + 0.0,
            walk_backward_name(b, n->out, name), cell_text(b, n->out, t.at, at), (double)t.slope);
    }
    if (terms > MAX_TERMS) say(6, "and %ld smaller terms", terms - MAX_TERMS);
    putchar('\n');
}

/* The gradient of a weight that several operations read: no operation gets it, as none makes the weight. */
static void print_sum(const Backward *b, const Tensor *x, const char *name, long parts) {
    char at[CELL];
    long cell = b->row < 0 ? -1 : walk_backward_cell(b, x, x->grad);
    say(2, "dL/d %s, the sum of its %ld parts:", name, parts);
    print_matrix(b, x, x->grad);
    if (cell >= 0) say(4, "%s of it: %.8g\n", cell_text(b, x, cell, at), (double)x->grad[cell]);
}

static void print_additions(const Backward *b, long i) {
    const Node *n = b->node[i];
    char name[BACKWARD_NAME], part_of[PART] = "";
    for (int k = 0; k < n->inputs; k++) {
        if (!backward_reaches(n, k)) continue;
        Tensor *x = n->in[k];
        long visited, parts = walk_backward_parts(b, x, i, &visited);
        if (parts > 1) snprintf(part_of, PART, ", part %ld of %ld", visited, parts);
        say(2, "adds to dL/d %s, %s%s:%s", walk_backward_name(b, x, name), shape_text(x->shape),
            parts > 1 ? part_of : "", n->op->view ? " the same numbers" : "");
        if (n->op->view) continue;
        const real *part = backward_part(&b->w->arena, b->node[i], k);
        print_matrix(b, x, part);
        if (b->row >= 0) print_terms(b, i, k, part);
        if (!x->maker && parts > 1 && visited == parts) print_sum(b, x, name, parts);
    }
    if (n->op->view) putchar('\n');
}

/* A view only renames the numbers of its input: its matrix is not shown, unless it is a sum. */
static void print_arrival(const Backward *b, long i) {
    const Node *n = b->node[i];
    char name[BACKWARD_NAME], at[CELL];
    long visited, parts = walk_backward_parts(b, n->out, 0, &visited);
    if (n->op->view && parts < 2) return;
    say(2, "arrives: dL/d %s, %s", walk_backward_name(b, n->out, name), shape_text(n->out->shape));
    if (parts > 1) say(2, "the sum of %ld parts", parts);
    print_matrix(b, n->out, n->out->grad);
    long cell = n->op->view ? -1 : walk_backward_cell(b, n->out, n->out->grad);
    if (cell < 0) return;
    cell_text(b, n->out, cell, at);
    if (!isfinite(n->out->data[cell])) {
        say(4, "%s of it: 0; the value is -inf, set by the mask, and cannot be pushed", at);
        return;
    }
    Sweep s = backward_difference(b->node[i], cell);
    say(4, "%s of it: %.10g; by differences %.10g, with an error of about %.1e", at,
        (double)n->out->grad[cell] + 0.0, s.value + 0.0, s.error);
}

/* The arguments that are no tensors, "act": "relu", unless they are many numbers. */
static void print_arguments(const Node *n) {
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    if (out && n->op->arguments) n->op->arguments(n, out);
    if (!out || fclose(out) != 0 || !text) error_no_memory("the arguments of %s", n->op->name);
    if (*text && size < MAX_ARGUMENTS) say(2, "%s", text);
    free(text);
}

static void print_step(const Backward *b, long i) {
    const Node *n = b->node[i];
    const Derivation *d = backward_derivation(n->op);
    char name[BACKWARD_NAME], input[BACKWARD_INPUT], reads[LINES] = "";
    for (int k = 0; k < n->inputs; k++)
        if (n->in[k])
            text_append(reads, LINES, "%s%s = %s", *reads ? ", " : "", backward_input(n, k, input),
                        walk_backward_name(b, n->in[k], name));
    say(0, "%ld %s: %s = %s(%s)", i, n->op->name, walk_backward_name(b, n->out, name), n->op->name,
        reads);
    say(2, "%s", strstr(b->place[i], ".layers.") ? b->place[i] : "outside of the layers");
    print_arguments(n);
    if (d && *d->keeps) say(2, "%s", d->keeps);
    print_arrival(b, i);
    say(2, "forward and backward:");
    char formula[RECORD_FORMULA];
    say(4, "%s", record_formula(n, false, formula));
    say(4, "%s", record_formula(n, true, formula));
    print_additions(b, i);
}

/* ---- The update ---- */

/* AdamW's first step of one weight: of the shown attention's projections, at --cell or where the gradient is largest. */
static bool show_update(const Backward *b, Error *e) {
    Parameters *p = &b->w->run.model->parameters;
    char name[BACKWARD_NAME], at[64];
    snprintf(name, sizeof name, "%s.in_proj_weight", b->w->attention->name);
    const Parameter *weight = parameters_find(p, name);
    Optimizer o = optim_default(&optimizer_adamw);
    if (!weight || !optim_start(&o, p, e)) return !weight;
    Tensor x = {.shape = weight->shape};
    long cell = walk_backward_cell(b, &x, p->grad + weight->offset),
         index = weight->offset + (cell < 0 ? 0 : cell);
    double scale = 1, norm = optim_clip(&o, p, &scale), g = (double)p->grad[index],
           before = (double)p->value[index];
    optim_update(&o, p, LEARNING_RATE, scale);
    double m = (double)o.moment1[index], v = (double)o.moment2[index],
           after = (double)p->value[index];
    double m_hat = m / (1 - o.beta1), v_hat = v / (1 - o.beta2);
    optim_stop(&o);
    if (b->w->options->json) {
        printf("{\"update\": \"%s\", \"at\": %ld, \"g\": %.17g, \"norm\": %.17g, \"scale\": %.17g, "
               "\"m\": "
               "%.17g, \"v\": %.17g, \"before\": %.17g, \"after\": %.17g}\n",
               name, index - weight->offset, g, norm, scale, m, v, before, after);
        return true;
    }
    say(0, "The update: AdamW, step 1, of w = %s%s", name + strlen(b->w->layer),
        cell_text(b, &x, index - weight->offset, at));
    say(2, "clip: the norm of all gradients is %.6g; %s %g: g' = %.6g·g = %.6g, g = %.6g", norm,
        scale < 1 ? "it is cut to" : "it may be up to", o.clip_norm, scale, scale * g, g);
    say(2, "moments: m = %g·0 + %g·g' = %.6g, v = %g·0 + %g·g'^2 = %.6g", o.beta1, 1 - o.beta1, m,
        o.beta2, 1 - o.beta2, v);
    say(2, "correction: m^ = m / (1 - %g) = %.6g, v^ = v / (1 - %g) = %.6g", o.beta1, m_hat,
        o.beta2, v_hat);
    say(2, "step: w = %.8g - %g·m^ / (sqrt(v^) + %g) = %.8g, with a weight decay of %g", before,
        LEARNING_RATE, adamw_epsilon, after, o.weight_decay);
    return true;
}

/* ---- All ---- */

static void introduce(const Backward *b) {
    const WalkThrough *w = b->w;
    say(0,
        "Backward from L = %.6g, the mean of -ln p(next token) over the target's tokens%s. The "
        "tape holds "
        "%ld operations and visits them from the last to the first. Shown are those outside of the "
        "layers "
        "and those of %s, head %ld, with what else its layer does.",
        (double)*w->tape->last->out->data, w->run.end_id == NO_PAD ? " but the last" : "", b->count,
        w->attention->name, w->options->head);
    putchar('\n');
}

void walk_backward_steps(const Backward *b) {
    bool json = b->w->options->json;
    long skipped = 0, from = 0;
    for (long i = b->count - 1; i >= 0; i--) {
        bool shown = is_shown(b, i);
        if (!walk_backward_reached(b->node[i])) continue;
        if (skipped && shown && !json)
            say(0, "... not shown: %ld operation%s, from %ld to %ld\n", skipped, PLURAL(skipped),
                from, i + 1);
        if (!skipped) from = i;
        skipped = shown ? 0 : skipped + 1;
        if (json && (shown || b->w->options->operands)) walk_backward_json(b, i, shown);
        if (!json && shown) print_step(b, i);
    }
}

static bool read_cell(Backward *b, const char *text, Error *e) {
    char end;
    b->row = b->column = -1;
    return !text ||
           (sscanf(text, "%ld,%ld%c", &b->row, &b->column, &end) == 2 && b->row >= 0 &&
            b->column >= 0) ||
           error_set(e, STATUS_USAGE, "--cell: found \"%s\", need ROW,COLUMN, from 0",
                     ESCAPED(text));
}

/* Ids that the text does not have get the tokenizer's labels, or none. */
static void label_vocabulary(Backward *b) {
    WalkThrough *w = b->w;
    long size = w->run.model->config.vocab_size;
    const char **label = arena_alloc(&w->arena, (size_t)size * sizeof *label);
    for (int32_t i = 0; i < size; i++)
        label[i] = w->run.tokenizer ? *walk_ids(w, &i, 1).label : i ? "" : "[UNK]";
    for (long i = 0; i < w->target.count; i++) label[w->target.id[i]] = w->target.label[i];
    b->vocabulary = (WalkText){.count = size, .label = label};
}

bool walk_backward_start(Backward *b, WalkThrough *w, Error *e) {
    Parameters *p = &w->run.model->parameters;
    Tape *t = w->tape;
    *b = (Backward){.w = w, .count = t->nodes};
    if (!read_cell(b, w->options->cell, e)) return false;
    b->node = arena_alloc(&w->arena, (size_t)b->count * sizeof *b->node);
    b->place = arena_alloc(&w->arena, (size_t)b->count * sizeof *b->place);
    for (Node *n = t->last; n; n = n->previous) b->node[n->index] = n;
    b->layer.walk = w;
    if (walk_knows_layer(w, &(Error){0})) walk_add_layer(&b->layer);
    walk_backward_places(b);
    if (!w->options->json) label_vocabulary(b);
    parameters_clear_grad(p);
    tape_backward(t, t->last->out);
    parameters_zero_unreached(p);
    return !tape_failed(t, e);
}

/* Whether --step names an operation, and --cell an element of a matrix that is shown. */
static bool check_choice(const Backward *b, Error *e) {
    const WalkOptions *o = b->w->options;
    char names[LINES] = " ", name[CELL];
    bool any = false, inside = b->row < 0;
    for (long i = b->count - 1; i >= 0; i--) {
        const Node *n = b->node[i];
        if (!walk_backward_reached(n)) continue;
        snprintf(name, CELL, " %s,", n->op->name);
        if (!strstr(names, name)) text_append(names, LINES, "%s ", name + 1);
        if (!is_shown(b, i)) continue;
        any = true;
        for (int k = -1; k < n->inputs; k++) {
            const Tensor *x = k < 0 ? n->out : n->in[k];
            inside = inside || (x && !n->op->view && walk_backward_cell(b, x, NULL) >= 0);
        }
    }
    if (!any)
        return error_set(e, STATUS_USAGE, "--step: found \"%s\", need one of%.*s", ESCAPED(o->step),
                         (int)strlen(names) - 2, names);
    return inside ||
           error_set(e, STATUS_USAGE, "--cell: found %s, need an element of a matrix that is shown",
                     o->cell);
}

bool walk_backward(WalkThrough *w, Error *e) {
    Backward b;
    if (!walk_backward_start(&b, w, e)) return false;
    if (!check_choice(&b, e)) return false;
    if (!w->options->json) introduce(&b);
    walk_backward_steps(&b);
    if (w->options->step) return true;
    if (w->options->json) walk_print_parameters(w, "gradient", w->run.model->parameters.grad);
    return show_update(&b, e);
}
