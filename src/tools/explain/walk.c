/* The steps of the walk, in the order of the paper: the matrices of each step, their formulas, and their
 * purposes. The numbers come from the trace of the model's forward pass. */
#include "explain/walk.h"
#include "explain/show.h"
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { MAX_DRAWN = 1 << 14 };

void walk_add(WalkSteps *s, const char *step, const char *name, const char *formula,
              const char *from, Tensor *value, const WalkText *rows, const WalkText *columns,
              const char *purpose) {
    value = tape_contiguous(s->walk->tape, value);
    s->matrix[s->count++] = (WalkMatrix){step, name, formula, from, purpose, value, rows, columns};
}

const char *walk_format(WalkSteps *s, const char *format, ...) {
    enum { LENGTH = 128 };
    char *text = arena_alloc(&s->walk->arena, LENGTH);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, LENGTH, format, arguments);
    va_end(arguments);
    return text;
}

/* The product whose columns x are, through views and a rotation that the walk shows; NULL: another operation made x. */
static const Node *projection(const Tensor *x) {
    const Node *n = x->maker;
    while (n && (n->op->view || n->op == &op_contiguous || n->op == &op_rotary))
        n = n->in[0]->maker;
    return n && n->op == &op_linear ? n : NULL;
}

/* Whether x are columns of a product with W^Q, W^K and W^V, of which the walk shows the columns of a head. */
static bool is_projected(const WalkThrough *w, const Tensor *x) {
    char name[PARAMETER_NAME];
    snprintf(name, sizeof name, "%.48s.in_proj_weight", w->attention->name);
    const Parameter *p = parameters_find(&w->run.model->parameters, name);
    const Node *n = projection(x);
    return n && p && (n->in[1] == p->part[0] || n->in[1] == p->part[1]);
}

/* The columns of the shown head in a part of q | k | v, whose product has the columns from part `first` on: [n, d_k] */
static Tensor *projected(const WalkThrough *w, const Tensor *x, AttentionPart first,
                         AttentionPart part) {
    const ModelConfig *c = &w->run.model->config;
    long begin = config_head_column(c, part, w->options->head - 1) - config_column(c, first);
    return tape_slice(w->tape, projection(x)->out, 1, begin, begin + config_d_k(c));
}

/* The shown head of [heads, rows, columns]: [rows, columns] */
static Tensor *head_of(const WalkThrough *w, Tensor *all) {
    long head = w->options->head;
    Tensor *one = tape_contiguous(w->tape, tape_slice(w->tape, all, 0, head - 1, head));
    return tape_reshape(w->tape, one, SHAPE(one->shape.size[1], one->shape.size[2]));
}

/* ---- 3.4, 3.5 ---- */

/* The ids as numbers: [n] */
static Tensor *ids_of(const WalkThrough *w, const WalkText *x) {
    Tensor *ids = tape_constant(w->tape, SHAPE(x->count));
    for (long i = 0; ids->data && i < x->count; i++) ids->data[i] = (real)x->id[i];
    return ids;
}

static void add_tokens(WalkSteps *s) {
    WalkThrough *w = s->walk;
    const WalkOptions *o = w->options;
    bool answers = o->model && w->queries == &w->target && w->source.count;
    const char *purpose =
        "Ids count the different characters of the vocabulary from 0, in order of appearance.";
    if (o->words)
        purpose = "Ids count the different words of the vocabulary from 1, in order of appearance. "
                  "Id 0 is "
                  "[UNK], any other word.";
    if (o->model) purpose = "The text. The run's vocabulary gives the ids.";
    if (w->run.lines)
        purpose = "A line, which the token of its end begins. The run's vocabulary gives the ids.";
    if (answers) purpose = "The decoder reads <begin>, then the model's own answer to the source.";
    if (answers)
        walk_add(s, "tokens", "source", "source_i = id of token i", "id", ids_of(w, &w->source),
                 &w->source, NULL,
                 "The text, which the encoder reads. The run's vocabulary gives the ids.");
    walk_add(s, "tokens", "x", "x_i = id of token i", "id", ids_of(w, w->queries), w->queries, NULL,
             purpose);
}

static void add_embedding(WalkSteps *s) {
    WalkThrough *w = s->walk;
    Model *m = w->run.model;
    const WalkText *x = w->queries;
    const Tokens *tokens = x == &w->source ? &w->source_tokens : &w->target_tokens;
    double scale = m->config.scale_embedding ? sqrt(m->config.d_model) : 1;
    Tensor *rows = tape_embedding(w->tape, &m->embedding, x->count, tokens->id, scale, NULL, NULL);
    walk_add(s, "embedding", "E",
             m->config.scale_embedding ? "E_i = sqrt(d_model) W_(x_i)" : "E_i = W_(x_i)",
             m->config.scale_embedding ? "row W sqrt" : "row W", rows, x, NULL,
             "Each token becomes a row of learnt numbers. Equal tokens have equal rows.");
    if (!m->config.positions->added) return;
    Tensor *positions = tape_embedding(w->tape, &m->positions, x->count, tokens->at, 1, NULL, NULL);
    const Positions *kind = m->config.positions;
    walk_add(s, "positions", "PE",
             kind->formula ? kind->formula
                           : walk_format(s, "PE, of %s positions", kind->choice.name),
             "position", positions, x, NULL,
             "The position of each token. Attention alone does not know the order of tokens.");
    walk_add(s, "positions", "E + PE", "X = E + PE", "sum E, PE",
             tape_add(w->tape, rows, positions), x, NULL, NULL);
}

/* ---- 3.2 ---- */

/* Angles of the rotation: [n, d_k / 2] */
static Tensor *angles(const WalkThrough *w, long n) {
    const ModelConfig *c = &w->run.model->config;
    long d_k = config_d_k(c), m = d_k / 2;
    Tensor *phi = tape_constant(w->tape, SHAPE(n, m));
    for (long i = 0; phi->data && i < n * m; i++)
        phi->data[i] = (real)c->positions->angle(c, i / m, i % m);
    return phi;
}

static void add_normalised(WalkSteps *s, Tensor *projected_q, Tensor *projected_k) {
    const WalkThrough *w = s->walk;
    long d_k = config_d_k(&w->run.model->config);
    walk_add(s, "qk-norm", "Q normalised", "q_i / sqrt(mean over j of q_ij^2 + 1e-5)", NULL,
             tape_rotary(w->tape, projected_q, 1, d_k, NULL, NULL, true), w->queries, NULL,
             "Each query gets a mean square of 1. With keys of the same length a score lies within "
             "d_k.");
    walk_add(s, "qk-norm", "K normalised", "k_i / sqrt(mean over j of k_ij^2 + 1e-5)", NULL,
             tape_rotary(w->tape, projected_k, 1, d_k, NULL, NULL, true), w->keys, NULL, NULL);
}

static void add_turned(WalkSteps *s) {
    const WalkThrough *w = s->walk;
    const Positions *kind = w->run.model->config.positions;
    if (kind->angle)
        walk_add(
            s, "rotary", "phi", "phi_ij = i 10000^(-2j/d_k)", NULL, angles(w, w->queries->count),
            w->queries, NULL,
            "The angles by which the query and the key of position i turn. Nothing is added to X.");
    walk_add(s, "rotary", "Q turned",
             kind->turned ? kind->turned
                          : walk_format(s, "Q, turned by %s positions", kind->choice.name),
             NULL, head_of(w, w->attention->steps->q), w->queries, NULL,
             "The product of a query of position i and a key of position k is then that of a query "
             "turned by "
             "i - k and the key: a score depends on the distance.");
    walk_add(s, "rotary", "K turned", "the same of K", NULL, head_of(w, w->attention->steps->k),
             w->keys, NULL, NULL);
}

/* The scores of queries and keys as they are, normalised, or turned: formula and operands. */
static const struct Product {
    const char *formula, *from;
} plain_product = {"S = Q K^T", "product Q, K^T"},
  normalised_product = {"S = Q K^T, both normalised", "product Q normalised, K normalised^T"},
  turned_product = {"S = Q K^T, both turned", "product Q turned, K turned^T"};

/* Queries, keys and values that are no columns of a product with W^Q, W^K, W^V, for example those of adapters. */
static struct Product add_other_projections(WalkSteps *s) {
    const WalkThrough *w = s->walk;
    const AttentionSteps *a = w->attention->steps;
    const char *purpose = "The walk does not know how this model computes them.";
    walk_add(s, "projections", "Q", "Q, the queries", NULL, head_of(w, a->q), w->queries, NULL,
             purpose);
    walk_add(s, "projections", "K", "K, the keys", NULL, head_of(w, a->k), w->keys, NULL, NULL);
    walk_add(s, "projections", "V", "V, the values", NULL, head_of(w, a->v), w->keys, NULL, NULL);
    return plain_product;
}

/* Queries, keys and values. Returns how their scores are computed. */
static struct Product add_projections(WalkSteps *s) {
    const WalkThrough *w = s->walk;
    const ModelConfig *c = &w->run.model->config;
    const AttentionSteps *a = w->attention->steps;
    bool cross = w->side == SIDE_CROSS;
    AttentionPart first = cross ? PART_K : PART_Q;
    if (!is_projected(w, a->q) || !is_projected(w, a->k) || !is_projected(w, a->v))
        return add_other_projections(s);
    Tensor *q = projected(w, a->q, PART_Q, PART_Q), *k = projected(w, a->k, first, PART_K);
    walk_add(s, "projections", "Q", "Q = X W^Q + b^Q", "product X, W^Q, b^Q", q, w->queries, NULL,
             "The queries: what each token looks for, in this head's d_k numbers.");
    walk_add(s, "projections", "K", cross ? "K = M W^K + b^K" : "K = X W^K + b^K",
             cross ? "product M, W^K, b^K" : "product X, W^K, b^K", k, w->keys, NULL,
             "The keys: what each token offers to be found by.");
    walk_add(s, "projections", "V", cross ? "V = M W^V + b^V" : "V = X W^V + b^V",
             cross ? "product M, W^V, b^V" : "product X, W^V, b^V",
             projected(w, a->v, first, PART_V), w->keys, NULL,
             "The values: what each token gives to the tokens that attend to it.");
    if (w->attention->normalised) add_normalised(s, q, k);
    bool turns = c->positions->turn && !cross;
    if (turns) add_turned(s);
    if (turns) return turned_product;
    return w->attention->normalised ? normalised_product : plain_product;
}

/* The scores that the mask sees: S' where scaling or positions have changed them. Returns their name. */
static const char *add_scaled(WalkSteps *s) {
    const WalkThrough *w = s->walk;
    const AttentionSteps *a = w->attention->steps;
    const ModelConfig *c = &w->run.model->config;
    const Positions *kind = c->positions;
    if (a->scaled == a->scores) return "S";
    bool placed = kind->scores && w->side != SIDE_CROSS;
    const char *change = "";
    if (placed)
        change = kind->scored ? kind->scored
                              : walk_format(s, ", changed by %s positions", kind->choice.name);
    walk_add(s, "scaling", "S'",
             walk_format(s, "S' = S%s%s", c->attention->scaled ? " / sqrt(d_k)" : "", change),
             placed ? NULL : "scaled S, Q", head_of(w, a->scaled), w->queries, w->keys,
             c->attention->scaled
                 ? "A sum of d_k products has variance d_k. Divided, the scores stay where "
                   "the softmax has a slope."
                 : NULL);
    return "S'";
}

static void add_head(WalkSteps *s) {
    const WalkThrough *w = s->walk;
    const AttentionSteps *a = w->attention->steps;
    const WalkText *q = w->queries, *k = w->keys;
    bool cross = w->side == SIDE_CROSS;
    const AttentionKind *kind = w->run.model->config.attention;
    walk_add(s, "input", "X", "X = the input of this attention", NULL, w->attention->input, q, NULL,
             "One row of d_model numbers a token.");
    if (cross)
        walk_add(s, "input", "M", "M = the encoder's output", NULL, w->attention->memory, k, NULL,
                 "The memory: one row a token of the source.");
    struct Product product = add_projections(s);
    if (kind->formula) product = (struct Product){kind->formula, NULL};
    walk_add(s, "scores", "S", product.formula, product.from, head_of(w, a->scores), q, k,
             kind->purpose
                 ? kind->purpose
                 : "Row i: how well the query of token i fits the key of each token. The matrix is "
                   "not symmetric: a high score of i for j says nothing about j for i.");
    const char *scaled = add_scaled(s);
    walk_add(s, "mask", "masked S'",
             walk_format(s, "masked S'_ij = -inf where i may not attend to j, else %s_ij", scaled),
             walk_format(s, "mask %s", scaled), head_of(w, a->masked), q, k,
             a->masked == a->scaled
                 ? "Every token may attend to every other: nothing is masked."
                 : "A token may attend only to itself and to earlier tokens. The mask "
                   "comes before the softmax, so that the remaining weights sum to 1.");
    walk_add(s, "softmax", "A", "A_ij = e^(masked S'_ij) / sum_j e^(masked S'_ij)",
             "softmax masked S'", head_of(w, a->weights), q, k,
             "Row i: how token i spreads its attention. Each row sums to 1.");
    walk_add(s, "values", "Z", "Z = A V", "product A, V", head_of(w, a->z), q, NULL,
             "Each token becomes a mean of the values, weighted by its attention.");
}

static void add_heads(WalkSteps *s) {
    const WalkThrough *w = s->walk;
    Tensor *x = w->attention->input;
    const AttentionSteps *a = w->attention->steps;
    const WalkText *q = w->queries, *k = w->keys;
    walk_add(
        s, "heads", "S of all heads", "S^h, of Q^h and K^h", "heads S", a->scores, q, k,
        "Each head has its own projections, so that a token can look for several things at once.");
    walk_add(s, "heads", "A of all heads", "A^h = softmax(S'^h)", "heads A", a->weights, q, k,
             NULL);
    walk_add(s, "concatenation", "Z of all heads", "Z = [Z^1 Z^2 ... Z^h]", "beside Z",
             a->concatenation, q, NULL,
             "The results of the heads, side by side: again d_model numbers a token.");
    long last = q->count - 1; /* under a causal mask the only row that attends to every token */
    Tensor *before = tape_slice(w->tape, x, 0, last, last + 1),
           *after = tape_slice(w->tape, a->concatenation, 0, last, last + 1);
    static const char *labels[] = {"before", "after"};
    static const WalkText both = {.count = 2, .label = labels};
    walk_add(s, "before-after", "last row of X and of Z", "X_n, Z_n", NULL,
             tape_concat(w->tape, 0, 2, (Tensor *[]){before, after}), &both, NULL,
             "The last token before and after attention: Z holds what it took up from the tokens "
             "it attends to.");
    walk_add(s, "output", "Y", "Y = Z W^O + b^O", "product Z of all heads, W^O, b^O",
             w->attention->output, q, NULL, "The results of the heads, mixed.");
}

/* ---- All ---- */

static const char *const step_names[] = {"merges", "tokens",      "embedding",     "positions",
                                         "input",  "projections", "qk-norm",       "rotary",
                                         "scores", "scaling",     "mask",          "softmax",
                                         "values", "heads",       "concatenation", "before-after",
                                         "output", "residual",    "feed-forward"};
enum { STEPS = sizeof step_names / sizeof *step_names };

const char *walk_step_names(void) {
    static char names[256];
    size_t at = 0;
    for (int i = 0; i < STEPS; i++)
        at += (size_t)snprintf(names + at, sizeof names - at, "%s%s", i ? ", " : "", step_names[i]);
    return names;
}

static bool is_wanted(const WalkOptions *o, const char *step) {
    return !o->step || strcmp(o->step, step) == 0;
}

static bool known_step(const char *name, Error *e) {
    for (int i = 0; i < STEPS; i++)
        if (strcmp(step_names[i], name) == 0) return true;
    return error_set(e, STATUS_USAGE, "--step: found \"%s\", need one of %s", ESCAPED(name),
                     walk_step_names());
}

/* Draws the weights as a map, unless they are too many. */
static void draw_weights(const WalkMatrix *m) {
    const Tensor *a = m->value;
    long count = shape_count(a->shape);
    double largest = 0;
    if (count > MAX_DRAWN) return;
    for (long i = 0; i < count; i++) largest = fmax(largest, (double)a->data[i]);
    Terminal t = terminal_of(stdout);
    const Map map = {"Attention weights A",
                     NULL,
                     m->rows->count,
                     m->columns->count,
                     "query",
                     "key",
                     walk_labels(m->rows, t.unicode),
                     walk_labels(m->columns, t.unicode),
                     a->data,
                     0,
                     largest};
    map_print(&map);
    putchar('\n');
}

/* Prints which attention of which model follows. */
static void introduce(const WalkThrough *w) {
    const WalkOptions *o = w->options;
    const ModelConfig *c = &w->run.model->config;
    static const char *const side[] = {"Encoder", "Decoder", "Cross"};
    char text[PATH_CAPACITY + 200];
    snprintf(text, sizeof text,
             "%s attention, layer %ld, head %ld; d_model %d, %d heads of d_k %ld; %s %s",
             side[w->side], o->layer, o->head, c->d_model, c->heads, config_d_k(c),
             o->model ? "weights of the run" : "random weights", o->model ? o->model : "");
    show_wrapped(text, 0);
    putchar('\n');
}

static bool print_all(WalkThrough *w, Error *e) {
    const WalkOptions *o = w->options;
    WalkSteps s = {.walk = w};
    if (!walk_knows_layer(w, e)) return false;
    add_tokens(&s);
    add_embedding(&s);
    add_head(&s);
    add_heads(&s);
    walk_add_layer(&s);
    if (tape_failed(w->tape, e)) return false;
    bool merges =
             w->run.tokenizer && w->run.tokenizer->kind == &tokenizer_bpe && is_wanted(o, "merges"),
         any = merges;
    for (int i = 0; i < s.count; i++) any |= is_wanted(o, s.matrix[i].step);
    if (!any)
        return error_set(e, STATUS_USAGE,
                         "--step: found %s, need another step: this model has none", o->step);
    if (o->operands)
        walk_add_weights(&s);
    else if (o->json && !o->step)
        walk_print_parameters(w, "weight", w->run.model->parameters.value);
    if (!o->json) introduce(w);
    if (merges && !walk_print_merges(w, e)) return false;
    for (int i = 0; i < s.count; i++) {
        if (!is_wanted(o, s.matrix[i].step)) continue;
        walk_print(o, &s.matrix[i]);
        if (!o->json && strcmp(s.matrix[i].step, "softmax") == 0) draw_weights(&s.matrix[i]);
    }
    return true;
}

bool explain_walk(const WalkOptions *o, Error *e) {
    WalkThrough w;
    if (o->step && !o->backward && !known_step(o->step, e)) return false;
    bool ok = walk_read(&w, o, e) && walk_choose(&w, e) &&
              (o->backward ? walk_backward : print_all)(&w, e);
    walk_close(&w);
    return ok;
}
