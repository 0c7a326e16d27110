/* Names of the walk backward: of matrices, as the walk forward has them, of their rows and columns, of modules. */
#include "explain/walk_backward.h"
#include <stdio.h>
#include <string.h>

/* The parameter of a leaf; NULL: another tensor. */
static const Parameter *parameter_of(const Backward *b, const Tensor *x) {
    const Parameters *p = &b->w->run.model->parameters;
    for (int i = 0; i < p->count; i++)
        for (int part = 0; part < PARAMETER_PARTS; part++)
            if (p->entry[i].part[part] == x) return &p->entry[i];
    return NULL;
}

/* The other factor of the scores Q Kᵀ; NULL: they are no such product. */
static const Tensor *turned_keys(const Backward *b) {
    const Node *product = b->w->attention->steps->scores->maker;
    return product->inputs == 2 ? product->in[1] : NULL;
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
                   {turned_keys(b), "K^T"},
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
        snprintf(out, BACKWARD_NAME, strchr(symbol, '+') ? "(%s%s)" : "%s%s", symbol,
                 form_of(b, x));
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
    const WalkText *vocabulary = b->vocabulary.count ? &b->vocabulary : NULL;
    if (x == (columns ? b->w->logits : &b->w->run.model->embedding)) return vocabulary;
    if (columns) return scores || x == turned_keys(b) ? b->w->keys : NULL;
    if (x == s->k || x == s->v) return b->w->keys;
    if (scores || x == s->q || x == s->z) return b->w->queries;
    const WalkText *side = side_of(b, x);
    return x->maker && x->shape.rank == 2 && x->shape.size[0] == side->count ? side : NULL;
}

void walk_backward_places(Backward *b) {
    for (long i = 0; i < b->count; i++) {
        const Parameter *p = NULL;
        for (int k = 0; k < b->node[i]->inputs && !p; k++)
            if (b->node[i]->in[k]) p = parameter_of(b, b->node[i]->in[k]);
        if (p)
            snprintf(b->place[i], PARAMETER_NAME, "%.*s", (int)(strrchr(p->name, '.') - p->name),
                     p->name);
        else if (i > 0)
            memcpy(b->place[i], b->place[i - 1], PARAMETER_NAME);
    }
}
