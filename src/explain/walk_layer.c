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

bool walk_knows_layer(const WalkThrough *w, Error *e) {
    const ModuleTrace *norm = norm_after_attention(w), *last = last_norm(w),
                      *network = module_of(w, "feed_forward");
    bool known = w->attention && norm && last && network && adds(norm->in, w->attention->output);
    if (known && w->run.model->config.norm == NORM_POST) known = adds(last->in, network->out);
    return known ||
           error_set(e, STATUS_BAD_DATA, "%.*s: found a layer that the walk does not know, need the paper's",
                     (int)strlen(w->layer) - 1, w->layer);
}

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

/* The feed-forward network of a decoder layer follows its cross-attention: its operands are not in a walk through its
 * self-attention. */
static bool leads_to_feed_forward(const WalkThrough *w) {
    return w->side == SIDE_CROSS || strncmp(w->layer, "decoder", 7) != 0;
}

/* The steps of a network of two products. */
static void add_hidden(WalkSteps *s, const Node *inner, const Node *projected, const char *title) {
    const WalkThrough *w = s->walk;
    const ActivationKind *act = w->run.model->config.activation;
    if (act->columns == 2)
        walk_add(s, "feed-forward", "gates and values", "[G V] = N W_1 + b_1", NULL, inner->out, w->queries,
                 NULL, "Half of the columns are gates, which let the other half through.");
    bool known = act->fused && leads_to_feed_forward(w);
    walk_add(s, "feed-forward", "hidden",
             act->formula ? act->formula : walk_format(s, "H, by %s", act->choice.name),
             known ? walk_format(s, "%s %s, W_1, b_1", act->choice.name, title) : NULL, projected->in[0],
             w->queries, NULL, "Each token on its own, through a wider layer.");
}

void walk_add_layer(WalkSteps *s) {
    const WalkThrough *w = s->walk;
    const ModelConfig *c = &w->run.model->config;
    const WalkText *q = w->queries;
    const NormKind *kind = c->norm_kind;
    bool pre = c->norm == NORM_PRE, first = w->side != SIDE_CROSS && w->options->layer == 1;
    const char *sum = pre ? NULL : "sum X, Z W^O", *title = kind->title ? kind->title : kind->choice.name;
    if (pre && first) sum = c->positions->added ? "sum E + PE, Z W^O" : "sum E, Z W^O";
    const ModuleTrace *norm = norm_after_attention(w), *last = last_norm(w),
                      *network = module_of(w, "feed_forward");
    walk_add(s, "residual", "X + Y", pre ? "R = x + Y, x: the input of the norm" : "R = X + Y", sum, norm->in,
             q, NULL, "Each token keeps its row and adds the result of attention.");
    walk_add(s, "residual", title, kind->formula ? kind->formula : "N = the norm of R",
             kind->from ? walk_format(s, "%s X + Y, gain, bias", kind->from) : NULL, norm->out, q, NULL,
             kind->purpose);
    const Node *inner = reader_of(w, "linear1"), *projected = reader_of(w, "linear2");
    bool dense = inner && projected;
    if (dense) add_hidden(s, inner, projected, title);
    walk_add(s, "feed-forward", "projected", dense ? "F = H W_2 + b_2" : "F = FFN(N)",
             dense ? "product hidden, W_2, b_2" : NULL, network->out, q, NULL, NULL);
    const char *added = pre ? "sum X + Y, projected" : walk_format(s, "sum %s, projected", title);
    walk_add(s, "feed-forward", "N + F", pre ? "R = R + F" : "R = N + F",
             leads_to_feed_forward(w) ? added : NULL,
             pre ? tape_add(w->tape, last->in, network->out) : last->in, q, NULL, NULL);
    if (!pre)
        walk_add(s, "feed-forward", walk_format(s, "%s of it", title),
                 "the output of the layer, input of the next",
                 kind->from ? walk_format(s, "%s N + F, last gain, last bias", kind->from) : NULL, last->out,
                 q, NULL, NULL);
}
