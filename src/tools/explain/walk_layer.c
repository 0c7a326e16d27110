/* A walk after attention: the residual connection and norm of 3.1, the feed-forward network of 3.3. */
#include "explain/walk.h"
#include <stdio.h>
#include <string.h>

const char *const walk_norms[3] = {"norm1", "norm2", "norm3"};

/* A norm or the feed-forward network of this layer; NULL: there is none. */
static const ModuleTrace *module_of(const WalkThrough *w, const char *name) {
    char full[PARAMETER_NAME];
    snprintf(full, sizeof full, "%.35s%.20s", w->layer, name);
    return nn_trace_find_module(&w->trace, full);
}

/* The norm after, or with pre-norm behind, the shown attention, and the last of the layer. */
static const ModuleTrace *norm_after_attention(const WalkThrough *w) {
    bool pre = w->run.model->config.norm == NORM_PRE;
    return module_of(w, walk_norms[(w->side == SIDE_CROSS) + pre]);
}

static const ModuleTrace *last_norm(const WalkThrough *w) {
    return module_of(w, walk_norms[1 + (strncmp(w->layer, "decoder", 7) == 0)]);
}

/* Whether x is the sum of a residual connection with y. */
static bool adds(const Tensor *x, const Tensor *y) {
    const Node *n = x->maker;
    return n && n->op == &op_residual && n->in[1] == y;
}

/* The last node that reads x. */
static const Node *reader_of(const WalkThrough *w, const Tensor *x) {
    for (const Node *n = w->end; n && x; n = n->previous)
        for (int i = 0; i < n->inputs; i++)
            if (n->in[i] == x) return n;
    return NULL;
}

bool walk_knows_layer(const WalkThrough *w, Error *e) {
    const ModuleTrace *norm = norm_after_attention(w), *last = last_norm(w),
                      *network = module_of(w, "feed_forward");
    bool known = w->attention && norm && last && network && adds(norm->in, w->attention->output);
    const Node *sum = known ? reader_of(w, network->out) : NULL;
    known = sum && adds(sum->out, network->out);
    if (known && w->run.model->config.norm == NORM_POST) known = sum->out == last->in;
    return known || error_set(e, STATUS_BAD_DATA,
                              "%.*s: found a layer that the walk does not know, need the paper's",
                              (int)strlen(w->layer) - 1, w->layer);
}

/* The node that reads a weight of this layer. */
static const Node *product_of(const WalkThrough *w, const char *module) {
    char full[PARAMETER_NAME];
    snprintf(full, sizeof full, "%.35s%.20s.weight", w->layer, module);
    const Parameter *p = parameters_find(&w->run.model->parameters, full);
    return p ? reader_of(w, p->part[0]) : NULL;
}

/* In a decoder layer the attention across lies between self-attention and the feed-forward network: adds the norm behind
 * it, and with pre-norm the sum. Returns the name of the norm. */
static const char *add_across(WalkSteps *s, const ModuleTrace *last, Tensor *n, const char *title,
                              const char *formula) {
    const WalkThrough *w = s->walk;
    const char *name = walk_format(s, "%s across", title),
               *from = w->run.model->config.norm_kind->from;
    bool pre = n == last->out;
    if (pre)
        walk_add(s, "feed-forward", "R across", "R = R + Y, Y: the result of the attention across",
                 NULL, last->in, w->queries, NULL, NULL);
    walk_add(s, "feed-forward", name,
             pre ? formula : "N = the norm of N + Y, Y: the result of the attention across",
             pre && from ? walk_format(s, "%s R across, last gain, last bias", from) : NULL, n,
             w->queries, NULL,
             "The attention across, which --side cross shows, comes before the network. From here "
             "on, N is this.");
    return name;
}

/* The steps of a network of two products. */
static void add_hidden(WalkSteps *s, const Node *inner, const Node *projected, const char *norm) {
    const WalkThrough *w = s->walk;
    const ActivationKind *act = w->run.model->config.activation;
    if (act->columns == 2)
        walk_add(s, "feed-forward", "gates and values", "[G V] = N W_1 + b_1", NULL, inner->out,
                 w->queries, NULL,
                 "Half of the columns are gates, which let the other half through.");
    walk_add(s, "feed-forward", "hidden",
             act->formula ? act->formula : walk_format(s, "H, by %s", act->choice.name),
             act->fused ? walk_format(s, "%s %s, W_1, b_1", act->choice.name, norm) : NULL,
             projected->in[0], w->queries, NULL, "Each token on its own, through a wider layer.");
}

void walk_add_layer(WalkSteps *s) {
    const WalkThrough *w = s->walk;
    const ModelConfig *c = &w->run.model->config;
    const WalkText *q = w->queries;
    const NormKind *kind = c->norm_kind;
    bool pre = c->norm == NORM_PRE, first = w->side != SIDE_CROSS && w->options->layer == 1;
    bool across = w->side != SIDE_CROSS && strncmp(w->layer, "decoder", 7) == 0;
    const char *sum = pre ? NULL : "sum X, Y",
               *title = kind->title ? kind->title : kind->choice.name;
    if (pre && first) sum = c->positions->added ? "sum E + PE, Y" : "sum E, Y";
    const ModuleTrace *norm = norm_after_attention(w), *last = last_norm(w),
                      *network = module_of(w, "feed_forward");
    walk_add(s, "residual", "X + Y", pre ? "R = x + Y, x: the input of the norm" : "R = X + Y", sum,
             norm->in, q, NULL, "Each token keeps its row and adds the result of attention.");
    const char *formula = kind->formula ? kind->formula : "N = the norm of R";
    walk_add(s, "residual", title, formula,
             kind->from ? walk_format(s, "%s X + Y, gain, bias", kind->from) : NULL, norm->out, q,
             NULL, kind->purpose);
    const Node *inner = product_of(w, "linear1"), *projected = product_of(w, "linear2");
    const char *before = across ? add_across(s, last, network->in, title, formula) : title;
    bool dense = inner && projected;
    if (dense) add_hidden(s, inner, projected, before);
    walk_add(s, "feed-forward", "projected", dense ? "F = H W_2 + b_2" : "F = FFN(N)",
             dense ? "product hidden, W_2, b_2" : NULL, network->out, q, NULL, NULL);
    if (pre) before = across ? "R across" : "X + Y";
    walk_add(s, "feed-forward", pre ? "R + F" : "N + F", pre ? "R = R + F" : "R = N + F",
             walk_format(s, "sum %s, projected", before),
             pre ? reader_of(w, network->out)->out : last->in, q, NULL, NULL);
    if (!pre)
        walk_add(s, "feed-forward", walk_format(s, "%s of it", title), formula,
                 kind->from ? walk_format(s, "%s N + F, last gain, last bias", kind->from) : NULL,
                 last->out, q, NULL, "The output of the layer, the input of the next.");
}
