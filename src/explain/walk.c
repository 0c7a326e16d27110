/* The steps of the walk, in the order of the paper: the matrices of each step, their formulas, and their
 * purposes. The numbers come from the trace of the model's forward pass. */
#include "explain/walk.h"
#include "explain/show.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MOST_DRAWN = 1 << 14 };

static void add(WalkSteps *s, const char *step, const char *name, const char *formula, const char *from,
                Tensor *value, const WalkText *rows, const WalkText *columns, const char *purpose) {
    walk_add(s, &(WalkMatrix){step, name, formula, from, purpose, value, rows, columns});
}

void walk_add(WalkSteps *s, const WalkMatrix *m) {
    WalkMatrix *x = &s->matrix[s->count++];
    *x = *m;
    x->value = tape_contiguous(s->walk->tape, m->value);
}

const char *const walk_norms[3] = {"norm1", "norm2", "norm3"};

/* The node that reads a weight of this layer. */
static const Node *reader_of(const WalkThrough *w, const char *module) {
    char full[PARAMETER_NAME];
    snprintf(full, sizeof full, "%.35s%.20s.weight", w->layer, module);
    const Parameter *p = parameters_find(&w->run.model->parameters, full);
    for (const Node *n = w->end; n && p; n = n->previous)
        for (int i = 0; i < n->inputs; i++)
            if (n->in[i] == p->part[0]) return n;
    return NULL;
}

/* The product that projected queries, keys or values of a trace; NULL: there is none. */
static const Node *projection(const Tensor *x) {
    const Node *n = x->maker;
    while (n && n->op != &op_linear) n = n->inputs ? n->in[0]->maker : NULL;
    return n;
}

/* Whether x are columns of a product with W^Q, W^K and W^V, of which the walk shows the columns of a head. */
static bool is_projected(const WalkThrough *w, const Tensor *x) {
    char name[PARAMETER_NAME];
    snprintf(name, sizeof name, "%.48s.in_proj_weight", w->attention->name);
    const Parameter *p = parameters_find(&w->run.model->parameters, name);
    const Node *n = projection(x);
    return n && p && (n->in[1] == p->part[0] || n->in[1] == p->part[1]);
}

/* Whether the layer has the parts that the walk shows. */
static bool knows_layer(const WalkThrough *w, Error *e) {
    static const char *const read[] = {"norm1", "norm2", "norm3", "linear1", "linear2"};
    bool decoder = strncmp(w->layer, "decoder", 7) == 0;
    const AttentionSteps *a = w->attention ? w->attention->steps : NULL;
    if (!a || !is_projected(w, a->q) || !is_projected(w, a->k) || !is_projected(w, a->v))
        return error_set(e, STATUS_BAD_DATA,
                         "%.40s: found an attention that the walk does not know, need the paper's", w->layer);
    for (int i = 0; i < 5; i++)
        if (!reader_of(w, read[i]) && (i != 2 || decoder))
            return error_set(e, STATUS_BAD_DATA,
                             "%.40s%s.weight: found no such weight, need the layer that the walk knows",
                             w->layer, read[i]);
    return true;
}

/* Its columns of the shown head, behind `skip` others: [n, d_k] */
static Tensor *projected(const WalkThrough *w, const Tensor *x, long skip) {
    long d_k = w->run.model->config.d_model / w->run.model->config.heads,
         first = skip + (w->options->head - 1) * d_k;
    return tape_slice(w->tape, projection(x)->out, 1, first, first + d_k);
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
        purpose = "Ids count the different words of the vocabulary from 1, in order of appearance. Id 0 is "
                  "[UNK], any "
                  "other word.";
    if (o->model) purpose = "The text. The run's vocabulary gives the ids.";
    if (w->run.lines)
        purpose = "A line, which the token of its end begins. The run's vocabulary gives the ids.";
    if (answers) purpose = "The decoder reads <begin>, then the model's own answer to the source.";
    if (answers)
        add(s, "tokens", "source", "source_i = id of token i", "id", ids_of(w, &w->source), &w->source, NULL,
            "The text, which the encoder reads. The run's vocabulary gives the ids.");
    add(s, "tokens", "x", "x_i = id of token i", "id", ids_of(w, w->queries), w->queries, NULL, purpose);
}

static void add_embedding(WalkSteps *s) {
    WalkThrough *w = s->walk;
    Model *m = w->run.model;
    const WalkText *x = w->queries;
    const Tokens *tokens = x == &w->source ? &w->source_tokens : &w->target_tokens;
    double scale = m->config.scale_embedding ? sqrt(m->config.d_model) : 1;
    Tensor *rows = tape_embedding(w->tape, &m->embedding, x->count, tokens->id, scale, NULL, NULL);
    add(s, "embedding", "E", m->config.scale_embedding ? "E_i = sqrt(d_model) W_(x_i)" : "E_i = W_(x_i)",
        m->config.scale_embedding ? "row W sqrt" : "row W", rows, x, NULL,
        "Each token becomes a row of learnt numbers. Equal tokens have equal rows.");
    if (!m->config.positions->added) return;
    Tensor *positions = tape_embedding(w->tape, &m->positions, x->count, tokens->at, 1, NULL, NULL);
    add(s, "positions", "PE", m->config.positions->formula, "position", positions, x, NULL,
        "The position of each token. Attention alone does not know the order of tokens.");
    add(s, "positions", "E + PE", "X = E + PE", "sum E, PE", tape_add(w->tape, rows, positions), x, NULL,
        NULL);
}

/* ---- 3.2 ---- */

/* Angles of the rotation: [n, d_k / 2] */
static Tensor *angles(const WalkThrough *w, long n) {
    long m = w->run.model->config.d_model / w->run.model->config.heads / 2;
    Tensor *phi = tape_constant(w->tape, SHAPE(n, m));
    for (long i = 0; phi->data && i < n * m; i++)
        phi->data[i] = (real)((double)(i / m) * pow(10000, -(double)(i % m) / (double)m));
    return phi;
}

static void add_normalised(WalkSteps *s, Tensor *projected_q, Tensor *projected_k) {
    const WalkThrough *w = s->walk;
    long d_k = w->run.model->config.d_model / w->run.model->config.heads;
    add(s, "qk-norm", "Q normalised", "q_i / sqrt(mean over j of q_ij^2 + 1e-5)", NULL,
        tape_rotary(w->tape, projected_q, 1, d_k, NULL, NULL, true), w->queries, NULL,
        "Each query gets a mean square of 1. With keys of the same length a score lies within d_k.");
    add(s, "qk-norm", "K normalised", "k_i / sqrt(mean over j of k_ij^2 + 1e-5)", NULL,
        tape_rotary(w->tape, projected_k, 1, d_k, NULL, NULL, true), w->keys, NULL, NULL);
}

static void add_turned(WalkSteps *s) {
    const WalkThrough *w = s->walk;
    add(s, "rotary", "phi", "phi_ij = i 10000^(-2j/d_k)", NULL, angles(w, w->queries->count), w->queries,
        NULL, "The angles by which the query and the key of position i turn. Nothing is added to X.");
    add(s, "rotary", "Q turned",
        "(a, b) = (q_ij, q_i(j+d_k/2)) becomes (a cos phi_ij - b sin phi_ij, a sin phi_ij + b cos phi_ij)",
        NULL, head_of(w, w->attention->steps->q), w->queries, NULL,
        "The product of a query of position i and a key of position k is then that of a query turned by i - "
        "k "
        "and the key: a score depends on the distance.");
    add(s, "rotary", "K turned", "the same of K", NULL, head_of(w, w->attention->steps->k), w->keys, NULL,
        NULL);
}

/* The scores of queries and keys as they are, normalised, or turned: formula and operands. */
static const struct Product {
    const char *formula, *from;
} plain_product = {"S = Q K^T", "product Q, K^T"},
  normalised_product = {"S = Q K^T, both normalised", "product Q normalised, K normalised^T"},
  turned_product = {"S = Q K^T, both turned", "product Q turned, K turned^T"};

/* Queries, keys and values. Returns how their scores are computed. */
static struct Product add_projections(WalkSteps *s) {
    const WalkThrough *w = s->walk;
    const ModelConfig *c = &w->run.model->config;
    const AttentionSteps *a = w->attention->steps;
    bool cross = w->side == SIDE_CROSS;
    long d = c->d_model;
    Tensor *q = projected(w, a->q, 0), *k = projected(w, a->k, cross ? 0 : d);
    add(s, "projections", "Q", "Q = X W^Q + b^Q", "product X, W^Q, b^Q", q, w->queries, NULL,
        "The queries: what each token looks for, in this head's d_k numbers.");
    add(s, "projections", "K", cross ? "K = M W^K + b^K" : "K = X W^K + b^K",
        cross ? "product M, W^K, b^K" : "product X, W^K, b^K", k, w->keys, NULL,
        "The keys: what each token offers to be found by.");
    add(s, "projections", "V", cross ? "V = M W^V + b^V" : "V = X W^V + b^V",
        cross ? "product M, W^V, b^V" : "product X, W^V, b^V", projected(w, a->v, cross ? d : 2 * d), w->keys,
        NULL, "The values: what each token gives to the tokens that attend to it.");
    if (w->attention->normalised) add_normalised(s, q, k);
    bool turns = c->positions->turn && !cross;
    if (turns) add_turned(s);
    if (c->attention->formula) return (struct Product){c->attention->formula, NULL};
    if (turns) return turned_product;
    return w->attention->normalised ? normalised_product : plain_product;
}

static void add_head(WalkSteps *s, Tensor *x) {
    const WalkThrough *w = s->walk;
    const AttentionSteps *a = w->attention->steps;
    const WalkText *q = w->queries, *k = w->keys;
    bool cross = w->side == SIDE_CROSS;
    const AttentionKind *kind = w->run.model->config.attention;
    add(s, "input", "X", "X = the input of this attention", NULL, x, q, NULL,
        "One row of d_model numbers a token.");
    if (cross)
        add(s, "input", "M", "M = the encoder's output", NULL, projection(a->k)->in[0], k, NULL,
            "The memory: one row a token of the source.");
    struct Product product = add_projections(s);
    add(s, "scores", "S", product.formula, product.from, head_of(w, a->scores), q, k,
        kind->purpose
            ? kind->purpose
            : "Row i: how well the query of token i fits the key of each token. The matrix is not symmetric: "
              "a high score of i for j says nothing about j for i.");
    bool falls = w->run.model->config.positions->slopes && !cross;
    if (kind->scaled)
        add(s, "scaling", "S / sqrt(d_k)",
            falls ? "S' = S / sqrt(d_k) - m |i - j|, m: the slope of the head" : "S' = S / sqrt(d_k)",
            falls ? NULL : "scaled S, Q", head_of(w, a->scaled), q, k,
            "A sum of d_k products has variance d_k. Divided, the scores stay where the softmax has a "
            "slope.");
    add(s, "mask", "masked", "S'_ij = -inf where i may not attend to j",
        kind->scaled ? "mask S / sqrt(d_k)" : "mask S", head_of(w, a->masked), q, k,
        a->masked == a->scaled ? "Every token may attend to every other: nothing is masked."
                               : "A token may attend only to itself and to earlier tokens. The mask comes "
                                 "before the softmax, so "
                                 "that the remaining weights sum to 1.");
    add(s, "softmax", "A", "A_ij = e^(S'_ij) / sum_j e^(S'_ij)", "softmax masked", head_of(w, a->weights), q,
        k, "Row i: how token i spreads its attention. Each row sums to 1.");
    add(s, "values", "Z", "Z = A V", "product A, V", head_of(w, a->z), q, NULL,
        "Each token becomes a mean of the values, weighted by its attention.");
}

static void add_heads(WalkSteps *s, Tensor *x) {
    const WalkThrough *w = s->walk;
    const AttentionSteps *a = w->attention->steps;
    const WalkText *q = w->queries, *k = w->keys;
    add(s, "heads", "S of all heads", "S^h, of Q^h and K^h", "heads S", a->scores, q, k,
        "Each head has its own projections, so that a token can look for several things at once.");
    add(s, "heads", "A of all heads", "A^h = softmax(S'^h)", "heads A", a->weights, q, k, NULL);
    add(s, "concatenation", "Z of all heads", "Z = [Z^1 Z^2 ... Z^h]", "beside Z", a->concatenation, q, NULL,
        "The results of the heads, side by side: again d_model numbers a token.");
    long last = q->count - 1; /* under a causal mask the only row that attends to every token */
    Tensor *before = tape_slice(w->tape, x, 0, last, last + 1),
           *after = tape_slice(w->tape, a->concatenation, 0, last, last + 1);
    static const char *labels[] = {"before", "after"};
    static const WalkText both = {.count = 2, .label = labels};
    add(s, "before-after", "last row of X and of Z", "X_n, Z_n", NULL,
        tape_concat(w->tape, 0, 2, (Tensor *[]){before, after}), &both, NULL,
        "The last token before and after attention: Z holds what it took up from the tokens it attends to.");
    add(s, "output", "Z W^O", "Y = Z W^O + b^O", "product Z of all heads, W^O, b^O", w->attention->output, q,
        NULL, "The results of the heads, mixed.");
}

/* ---- 3.1, 3.3 ---- */

/* The feed-forward network of a decoder layer follows its cross-attention: its operands are not in a walk through its
 * self-attention. */
static bool leads_to_feed_forward(const WalkThrough *w) {
    return w->side == SIDE_CROSS || strncmp(w->layer, "decoder", 7) != 0;
}

static void add_feed_forward(WalkSteps *s, const Node *inner, const Node *projected) {
    const WalkThrough *w = s->walk;
    const ActivationKind *act = w->run.model->config.activation;
    char *from = arena_alloc(&s->walk->arena, 64);
    snprintf(from, 64, "%s %s, W_1, b_1", act->choice.name, w->run.model->config.norm_kind->title);
    if (act->columns == 2)
        add(s, "feed-forward", "gates and values", "[G V] = N W_1 + b_1", NULL, inner->out, w->queries, NULL,
            "Half of the columns are gates, which let the other half through.");
    bool known = act->fused && leads_to_feed_forward(w);
    add(s, "feed-forward", "hidden", act->formula, known ? from : NULL, projected->in[0], w->queries, NULL,
        "Each token on its own, through a wider layer.");
    add(s, "feed-forward", "projected", "F = H W_2 + b_2", "product hidden, W_2, b_2", projected->out,
        w->queries, NULL, NULL);
}

static void add_rest(WalkSteps *s) {
    const WalkThrough *w = s->walk;
    const ModelConfig *c = &w->run.model->config;
    const WalkText *q = w->queries;
    const NormKind *kind = c->norm_kind;
    bool pre = c->norm == NORM_PRE, decoder = strncmp(w->layer, "decoder", 7) == 0;
    bool first = w->side != SIDE_CROSS && w->options->layer == 1;
    const char *sum = pre ? NULL : "sum X, Z W^O";
    if (pre && first) sum = c->positions->added ? "sum E + PE, Z W^O" : "sum E, Z W^O";
    const Node *norm = reader_of(w, walk_norms[(w->side == SIDE_CROSS) + pre]),
               *projected = reader_of(w, "linear2");
    add(s, "residual", "X + Y", pre ? "R = x + Y, x: the input of the norm" : "R = X + Y", sum, norm->in[0],
        q, NULL, "Each token keeps its row and adds the result of attention.");
    add(s, "residual", kind->title, kind->formula, kind->bias ? "norm X + Y, gain, bias" : NULL, norm->out, q,
        NULL, kind->purpose);
    add_feed_forward(s, reader_of(w, "linear1"), projected);
    const Node *last = reader_of(w, walk_norms[1 + decoder]);
    const char *added = pre ? "sum X + Y, projected" : "sum LayerNorm, projected";
    add(s, "feed-forward", "N + F", pre ? "R = R + F" : "R = N + F", leads_to_feed_forward(w) ? added : NULL,
        pre ? tape_add(w->tape, last->in[0], projected->out) : last->in[0], q, NULL, NULL);
    if (!pre)
        add(s, "feed-forward", kind->again, "the output of the layer, input of the next",
            kind->bias ? "norm N + F, last gain, last bias" : NULL, last->out, q, NULL, NULL);
}

/* ---- All ---- */

static const char *const step_names[] = {
    "merges",        "tokens",       "embedding", "positions", "input",       "projections", "qk-norm",
    "rotary",        "scores",       "scaling",   "mask",      "softmax",     "values",      "heads",
    "concatenation", "before-after", "output",    "residual",  "feed-forward"};
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
    if (count > MOST_DRAWN) return;
    for (long i = 0; i < count; i++) largest = fmax(largest, (double)a->data[i]);
    Terminal t = terminal_of(stdout);
    Picture p = {PICTURE_MAP, "Attention weights A", NULL,
                 .map = {m->rows->count, m->columns->count, "query", "key", walk_labels(m->rows, t.unicode),
                         walk_labels(m->columns, t.unicode), a->data, 0, largest}};
    picture_draw(&p, &t);
    putchar('\n');
}

/* Prints which attention of which model follows. */
static void introduce(const WalkThrough *w) {
    const WalkOptions *o = w->options;
    const ModelConfig *c = &w->run.model->config;
    static const char *const side[] = {"Encoder", "Decoder", "Cross"};
    char text[PATH_ROOM + 200];
    snprintf(text, sizeof text, "%s attention, layer %ld, head %ld; d_model %d, %d heads of d_k %d; %s %s",
             side[w->side], o->layer, o->head, c->d_model, c->heads, c->d_model / c->heads,
             o->model ? "weights of the run" : "random weights", o->model ? o->model : "");
    show_wrapped(text, 0);
    putchar('\n');
}

static bool print_all(WalkThrough *w, Error *e) {
    const WalkOptions *o = w->options;
    WalkSteps s = {.walk = w};
    if (!knows_layer(w, e)) return false;
    Tensor *x = projection(w->attention->steps->q)->in[0];
    add_tokens(&s);
    add_embedding(&s);
    add_head(&s, x);
    add_heads(&s, x);
    add_rest(&s);
    if (tape_failed(w->tape, e)) return false;
    bool merges = w->run.tokenizer && w->run.tokenizer->kind == &tokenizer_bpe && is_wanted(o, "merges"),
         any = merges;
    for (int i = 0; i < s.count; i++) any |= is_wanted(o, s.matrix[i].step);
    if (!any)
        return error_set(e, STATUS_USAGE, "--step: found %s, need another step: this model has none",
                         o->step);
    if (o->operands)
        walk_add_weights(&s);
    else if (o->json && !o->step)
        walk_print_weights(w);
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
    bool ok = walk_read(&w, o, e) && walk_choose(&w, e) && (o->backward ? walk_backward : print_all)(&w, e);
    walk_close(&w);
    return ok;
}
