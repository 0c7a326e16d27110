/* The walk backward: from the loss of predicting each next token to the embedding, in the order in which the tape visits
 * its records; then the update of one weight. Every number is the tape's, or computed by the operation's own backward. */
#include "explain/walk_backward.h"
#include "explain/show.h"
#include "pictures/terminal.h"
#include "training/optimizer.h"
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { CELL = 64, PART = 40, MOST_TERMS = 12 };
#define LEARNING_RATE 0.001

/* ---- Names ---- */

/* The parameter of a leaf; NULL: another tensor. */
static const Parameter *parameter_of(const Backward *b, const Tensor *x) {
    const Parameters *p = &b->w->run.model->parameters;
    for (int i = 0; i < p->count; i++)
        for (int part = 0; part < PARAMETER_PARTS; part++)
            if (p->entry[i].part[part] == x) return &p->entry[i];
    return NULL;
}

/* The name that the walk forward gives to a matrix of the shown attention or layer; NULL: none. */
static const char *symbol_of(const Backward *b, const Tensor *x) {
    const AttentionSteps *s = b->w->attention->steps;
    const struct {
        const Tensor *x;
        const char *name;
    } symbols[] = {{b->w->attention->input, "X"},
                   {b->w->attention->memory, "M"},
                   {s->q, "Q"},
                   {s->k, "K"},
                   {s->v, "V"},
                   {s->scores, "S"},
                   {s->scaled, "S'"},
                   {s->masked, "masked S'"},
                   {s->weights, "A"},
                   {s->z, "Z"},
                   {s->concatenation, "Z of all heads"},
                   {b->w->attention->output, "Y"},
                   {&b->w->run.model->positions, "positions"},
                   {b->w->logits, "logits"},
                   {b->w->tape->last->out, "L"}};
    for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++)
        if (symbols[i].x == x) return symbols[i].name;
    for (int i = 0; i < b->layer.count; i++)
        if (b->layer.matrix[i].value == x) return b->layer.matrix[i].name;
    return NULL;
}

/* Queries and keys as the scores multiply them. */
static const char *form_of(const Backward *b, const Tensor *x) {
    const WalkThrough *w = b->w;
    if (x != w->attention->steps->q && x != w->attention->steps->k) return "";
    if (w->run.model->config.positions->turn && w->side != SIDE_CROSS) return " turned";
    return w->attention->normalised ? " normalised" : "";
}

const char *walk_backward_name(const Backward *b, const Tensor *x, char out[BACKWARD_NAME]) {
    const char *symbol = symbol_of(b, x), *layer = b->w->layer;
    const Parameter *p = parameter_of(b, x);
    bool known = p && !b->w->options->json && strncmp(p->name, layer, strlen(layer)) == 0;
    const char *name = p ? p->name + (known ? strlen(layer) : 0) : NULL;
    if (symbol)
        snprintf(out, BACKWARD_NAME, strchr(symbol, '+') ? "(%s%s)" : "%s%s", symbol, form_of(b, x));
    else if (p && p->part[1])
        snprintf(out, BACKWARD_NAME, "%s, %s rows", name, p->part[0] == x ? "first" : "last");
    else if (p)
        snprintf(out, BACKWARD_NAME, "%s", name);
    else if (x->maker)
        snprintf(out, BACKWARD_NAME, "%s %ld", x->maker->op->name, x->maker->index);
    else
        snprintf(out, BACKWARD_NAME, "a constant");
    return out;
}

/* The tokens whose embedding x is made of: the source's come first on the tape. */
static const WalkText *side_of(const Backward *b, const Tensor *x) {
    const Node *n = x->maker;
    while (n && n->in[0]->maker) n = n->in[0]->maker;
    return n == b->node[0] && b->w->source.count ? &b->w->source : &b->w->target;
}

const WalkText *walk_backward_tokens(const Backward *b, const Tensor *x, bool columns) {
    const AttentionSteps *s = b->w->attention->steps;
    bool scores = x == s->scores || x == s->scaled || x == s->masked || x == s->weights;
    if (columns) return scores ? b->w->keys : NULL;
    if (x == s->k || x == s->v) return b->w->keys;
    if (scores || x == s->q || x == s->z) return b->w->queries;
    const WalkText *side = side_of(b, x);
    return x->maker && x->shape.rank == 2 && x->shape.size[0] == side->count ? side : NULL;
}

/* ---- Which steps are shown ---- */

static void place_nodes(Backward *b) {
    for (long i = 0; i < b->count; i++) {
        const Parameter *p = NULL;
        for (int k = 0; k < b->node[i]->inputs && !p; k++)
            if (b->node[i]->in[k]) p = parameter_of(b, b->node[i]->in[k]);
        if (p)
            snprintf(b->place[i], PARAMETER_NAME, "%.*s", (int)(strrchr(p->name, '.') - p->name), p->name);
        else if (i > 0)
            memcpy(b->place[i], b->place[i - 1], PARAMETER_NAME);
    }
}

/* Shows one layer, and one attention of it. */
static bool is_shown(const Backward *b, long i) {
    const WalkThrough *w = b->w;
    const WalkOptions *o = w->options;
    const char *place = b->place[i];
    if (o->step && strcmp(b->node[i]->op->name, o->step) != 0) return false;
    if (!strstr(place, ".layers.")) return true;
    if (strncmp(place, w->layer, strlen(w->layer)) != 0) return false;
    return !strstr(place, "_attn") || strncmp(place, w->attention->name, strlen(w->attention->name)) == 0;
}

/* ---- Text ---- */

/* Prints a line, broken at the terminal's width. */
__attribute__((format(printf, 2, 3))) static void say(int indent, const char *format, ...) {
    char text[600];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    show_wrapped(text, indent);
}

/* Prints lines of a derivation in the characters of the terminal. */
static void say_derivation(const char *text, int indent) {
    static const char *const ascii[][2] = {{"Σ", "sum"},   {"γ", "gamma"}, {"β", "beta"},  {"∂", "d"},
                                           {"√", "sqrt "}, {"ᵀ", "^T"},    {"·", "*"},     {"\xCC\x82", "^"},
                                           {"Φ", "Phi"},   {"φ", "phi"},   {"σ", "sigma"}, {"²", "^2"},
                                           {"≤", "<="},    {"…", "..."},   {"μ", "mu"}};
    enum { SIGNS = sizeof ascii / sizeof *ascii };
    char line[300];
    size_t used = 0;
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

/* The matrix of the shown head where x has one a head; the leading axes of others are one. */
typedef struct Shown {
    long at, rows, columns;
} Shown;

static Shown shown_of(const Backward *b, const Tensor *x) {
    Shape s = x->shape;
    long heads = b->w->run.model->config.heads, count = shape_count(s);
    bool by_head = s.rank > 2 && s.size[0] == heads;
    long columns = s.rank ? s.size[s.rank - 1] : 1, each = by_head ? count / heads : count;
    return (Shown){by_head ? (b->w->options->head - 1) * each : 0, columns ? each / columns : 0, columns};
}

static void print_matrix(const Backward *b, const Tensor *x, const real *values) {
    static const char *no_label = "";
    static const WalkText vector = {.count = 1, .label = &no_label};
    Shown m = shown_of(b, x);
    Tensor matrix = tensor_over((real *)(uintptr_t)values + m.at, SHAPE(m.rows, m.columns));
    walk_print_numbers(b->w->options,
                       &(WalkMatrix){"backward", .value = &matrix,
                                     .rows = x->shape.rank < 2 ? &vector : walk_backward_tokens(b, x, false),
                                     .columns = walk_backward_tokens(b, x, true)});
}

static double product(BackwardTerm t) {
    return (double)(t.dy * t.slope);
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

/* ", part 2 of 3": of the gradient of x, by node `at`; "": it is the only one. */
static const char *parts_text(const Backward *b, const Tensor *x, long at, char out[PART]) {
    long visited, parts = walk_backward_parts(b, x, at, &visited);
    *out = 0;
    if (parts > 1) snprintf(out, PART, ", part %ld of %ld", visited, parts);
    return out;
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
    enum { MOST = 1 << 14 };
    *cell = walk_backward_cell(b, b->node[i]->in[k], values);
    if (*cell < 0 || shape_count(b->node[i]->out->shape) > MOST) return NULL;
    return backward_terms(&b->w->arena, b->node[i], k, *cell, count);
}

/* The sum of one cell of what node i adds to input k: its terms, the largest first. */
static void print_terms(const Backward *b, long i, int k, const real *values) {
    const Node *n = b->node[i];
    long cell, terms;
    BackwardTerm *term = walk_backward_terms(b, i, k, values, &cell, &terms);
    char at[CELL], name[BACKWARD_NAME];
    if (!term) return;
    say(4, "%s of it: %.8g = sum of %ld terms dL/dy times dy/dx", cell_text(b, n->in[k], cell, at),
        (double)values[cell], terms);
    const Node *end = backward_end(b->node[i], k, cell);
    if (end) say(6, "0, because %ld %s does not depend on it", end->index, end->op->name);
    for (long shown = 0; shown < terms && shown < MOST_TERMS; shown++) {
        long best = shown;
        for (long j = shown; j < terms; j++)
            if (fabs(product(term[j])) > fabs(product(term[best]))) best = j;
        BackwardTerm t = term[best];
        term[best] = term[shown], term[shown] = t;
        say(6, "%.8g = %.8g, dL/d %s%s, times %.8g", product(t), (double)t.dy,
            walk_backward_name(b, n->out, name), cell_text(b, n->out, t.at, at), (double)t.slope);
    }
    if (terms > MOST_TERMS) say(6, "and %ld smaller terms", terms - MOST_TERMS);
    putchar('\n');
}

static void print_additions(const Backward *b, long i) {
    const Node *n = b->node[i];
    char name[BACKWARD_NAME], part_of[PART];
    for (int k = 0; k < n->inputs; k++) {
        if (!backward_reaches(n, k)) continue;
        Tensor *x = n->in[k];
        say(2, "adds to dL/d %s, %s%s:%s", walk_backward_name(b, x, name), shape_text(x->shape),
            parts_text(b, x, i, part_of), n->op->view ? " the same numbers" : "");
        if (n->op->view) continue;
        const real *part = backward_part(&b->w->arena, b->node[i], k);
        print_matrix(b, x, part);
        if (b->row >= 0) print_terms(b, i, k, part);
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
    Sweep s = backward_difference(b->node[i], cell);
    say(4, "%s of it: %.10g; by differences %.10g, with an error of about %.1e",
        cell_text(b, n->out, cell, at), (double)n->out->grad[cell], s.value, s.error);
}

static void print_step(const Backward *b, long i) {
    const Node *n = b->node[i];
    const Derivation *d = backward_derivation(n->op);
    char name[BACKWARD_NAME], reads[MAX_INPUTS * (BACKWARD_NAME + 2)] = "";
    for (int k = 0; k < n->inputs; k++)
        if (n->in[k]) strcat(strcat(reads, *reads ? ", " : ""), walk_backward_name(b, n->in[k], name));
    say(0, "%ld %s: %s = %s(%s)", i, n->op->name, walk_backward_name(b, n->out, name), n->op->name, reads);
    say(2, "%s", strstr(b->place[i], ".layers.") ? b->place[i] : "outside of the layers");
    if (d && *d->keeps) say_derivation(d->keeps, 2);
    print_arrival(b, i);
    say(2, "backward:");
    say_derivation(d ? d->formula : "see its file", 4);
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
    double m = (double)o.moment1[index], v = (double)o.moment2[index], after = (double)p->value[index];
    double m_hat = m / (1 - o.beta1), v_hat = v / (1 - o.beta2);
    optim_stop(&o);
    if (b->w->options->json) {
        printf("{\"update\": \"%s\", \"at\": %ld, \"g\": %.17g, \"norm\": %.17g, \"scale\": %.17g, \"m\": "
               "%.17g, \"v\": %.17g, \"before\": %.17g, \"after\": %.17g}\n",
               name, index - weight->offset, g, norm, scale, m, v, before, after);
        return true;
    }
    say(0, "The update: AdamW, step 1, of w = %s%s", name + strlen(b->w->layer),
        cell_text(b, &x, index - weight->offset, at));
    say(2, "clip: g' = %.6g g = %.6g, g = %.6g: the norm of all gradients is %.6g, and at most %g", scale,
        scale * g, g, norm, o.clip_norm);
    say(2, "moments: m = %g 0 + %g g' = %.6g, v = %g 0 + %g g'^2 = %.6g", o.beta1, 1 - o.beta1, m, o.beta2,
        1 - o.beta2, v);
    say(2, "correction: m^ = m / (1 - %g) = %.6g, v^ = v / (1 - %g) = %.6g", o.beta1, m_hat, o.beta2, v_hat);
    say(2, "step: w = %.8g - %g m^ / (sqrt(v^) + %g) = %.8g", before, LEARNING_RATE, o.epsilon, after);
    return true;
}

/* ---- All ---- */

static void introduce(const Backward *b) {
    const WalkThrough *w = b->w;
    say(0,
        "Backward from L = %.6g, the mean of -ln p(next token) over the target's tokens%s. The tape holds "
        "%ld operations and visits them from the last to the first. Shown are those outside of the layers "
        "and those of %s, head %ld, with what else its layer does.",
        (double)*w->tape->last->out->data, w->run.end_id == NO_PAD ? " but the last" : "", b->count,
        w->attention->name, w->options->head);
    putchar('\n');
}

void walk_backward_steps(const Backward *b) {
    bool json = b->w->options->json;
    long skipped = 0;
    for (long i = b->count - 1; i >= 0; i--) {
        bool shown = is_shown(b, i);
        if (!walk_backward_reached(b->node[i])) continue;
        if (skipped && shown && !json)
            say(0, "... %ld operation%s, down to %s\n", skipped, PLURAL(skipped), b->place[i + 1]);
        skipped = shown ? 0 : skipped + 1;
        if (json && (shown || b->w->options->operands)) walk_backward_json(b, i, shown);
        if (!json && shown) print_step(b, i);
    }
}

static bool read_cell(Backward *b, const char *text, Error *e) {
    char end;
    b->row = b->column = -1;
    return !text ||
           (sscanf(text, "%ld,%ld%c", &b->row, &b->column, &end) == 2 && b->row >= 0 && b->column >= 0) ||
           error_set(e, STATUS_USAGE, "--cell: found \"%s\", need ROW,COLUMN, from 0", ESCAPED(text));
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
    place_nodes(b);
    parameters_clear_grad(p);
    tape_backward(t, t->last->out);
    parameters_zero_unreached(p);
    return !tape_failed(t, e);
}

bool walk_backward(WalkThrough *w, Error *e) {
    Backward b;
    if (!walk_backward_start(&b, w, e)) return false;
    bool any = false;
    for (long i = 0; i < b.count; i++) any |= is_shown(&b, i) && walk_backward_reached(b.node[i]);
    if (!any)
        return error_set(e, STATUS_USAGE,
                         "--step: found \"%s\", need the name of an operation that this model records",
                         ESCAPED(w->options->step));
    if (!w->options->json) introduce(&b);
    walk_backward_steps(&b);
    if (w->options->step) return true;
    if (w->options->json) walk_backward_json_gradients(&b);
    return show_update(&b, e);
}
