/* 3.2.2 Multi-head attention.
 *
 *     MultiHead(Q, K, V) = Concat(head_1, …, head_h) W^O
 *     head_i = Attention(Q W_i^Q, K W_i^K, V W_i^V)
 *
 * One matrix product computes the projections of all heads: of q, k and v together in
 * self-attention, of k and v together in cross-attention. Each head then works on its own columns
 * of the result. */
#include "nn/nn.h"
#include <stdio.h>

/* W^Q, W^K, W^V of all heads, and W^O. As in PyTorch, the first three are one matrix: its rows make
 * the columns of q | k | v (config_column). Cross-attention splits this matrix: W^Q multiplies the
 * target, the other rows multiply the memory. */
struct Attention {
    Linear in;    /* self-attention: q, k, v in one product */
    Linear q, kv; /* cross-attention: the same rows, split */
    Linear out;
    Tensor score; /* [d_model], where the kind of attention has a weight */
    char name[PARAMETER_NAME];
};

Attention *nn_attention_new(Builder *b, const char *name, bool cross) {
    const ModelConfig *c = b->config;
    long d = c->d_model, queries = config_columns(c, PART_Q), all = config_column(c, PART_END);
    Attention *a = build_module(b, sizeof *a);
    snprintf(a->name, sizeof a->name, "%.40s%.20s", b->prefix, name);
    size_t outside = build_enter(b, "%s", name);
    Init init = glorot(d, d); /* each of the three as a matrix of its own */
    if (cross) {
        build_split(b, "in_proj_weight", SHAPE(all, d), init, &a->q.weight, queries, &a->kv.weight);
        if (c->biases)
            build_split(b, "in_proj_bias", SHAPE(all), init_zeros, &a->q.bias, queries,
                        &a->kv.bias);
    } else {
        build_tensor(b, "in_proj_weight", SHAPE(all, d), init, &a->in.weight);
        if (c->biases) build_tensor(b, "in_proj_bias", SHAPE(all), init_zeros, &a->in.bias);
    }
    build_linear(b, "out_proj", queries, d, &a->out);
    if (c->attention->weight)
        build_tensor(b, "score_weight", SHAPE(d), glorot(d / c->heads, 1), &a->score);
    build_leave(b, outside);
    return a;
}

Tensor *nn_part(const Forward *f, Tensor *x, AttentionPart first, AttentionPart part) {
    const ModelConfig *c = &f->model->config;
    long begin = config_column(c, part) - config_column(c, first);
    return tape_slice(f->tape, x, 1, begin, begin + config_columns(c, part));
}

/* Returns b, the slope of each head by which ALiBi lowers the scores of distant keys; NULL: the
 * model has other positions. */
static const real *slopes(const Forward *f) {
    const ModelConfig *c = &f->model->config;
    if (!c->positions->slopes) return NULL;
    real *slope = tape_constant(f->tape, SHAPE(c->heads))->data;
    if (slope) c->positions->slopes(c->heads, slope);
    return slope;
}

/* Names the steps of each sequence, in the paper's symbols. */
static void name_steps(const Forward *f, const AttentionTrace *a, const Reach *reach) {
    const Sequences *source = f->source ? &f->source->sequences : NULL;
    Axis n = reach->queries == source ? AXIS_SOURCE : AXIS_TARGET;
    Axis m = reach->keys == source ? AXIS_SOURCE : AXIS_TARGET;
    for (const AttentionSteps *s = a->steps; s < a->steps + a->sequences; s++) {
        nn_trace_name(f->trace, f->tape, s->q, "Q", AXES(AXIS_HEAD, n, AXIS_FEATURE));
        nn_trace_name(f->trace, f->tape, s->k, "K", AXES(AXIS_HEAD, m, AXIS_FEATURE));
        nn_trace_name(f->trace, f->tape, s->v, "V", AXES(AXIS_HEAD, m, AXIS_FEATURE));
        nn_trace_name(f->trace, f->tape, s->scores, "S", AXES(AXIS_HEAD, n, m));
        nn_trace_name(f->trace, f->tape, s->scaled, "S'", AXES(AXIS_HEAD, n, m));
        nn_trace_name(f->trace, f->tape, s->masked, "masked S'", AXES(AXIS_HEAD, n, m));
        nn_trace_name(f->trace, f->tape, s->weights, "A", AXES(AXIS_HEAD, n, m));
        nn_trace_name(f->trace, f->tape, s->z, "Z", AXES(AXIS_HEAD, n, AXIS_FEATURE));
        nn_trace_name(f->trace, f->tape, s->concatenation, "Z of all heads", AXES(n, AXIS_FEATURE));
    }
}

/* Returns Concat(head_1, …, head_h), [query rows, d_model]. */
static Tensor *attend_in_heads(const Forward *f, Attention *a, const Heads *in) {
    const ModelConfig *c = &f->model->config;
    Reach reach = in->reach;
    if (in->placed) reach.slopes = slopes(f);
    /* A trace shows the steps; scores of positions, those of ALiBi aside, exist as steps alone. */
    bool steps_only = f->trace || (in->placed && c->positions->scores && !c->positions->slopes);
    if (c->attention->fused && !steps_only)
        return tape_attention(f->tape, in->q, in->kv, NULL, c->heads, &reach);
    Tensor *source = in->kv ? in->kv : in->q;
    AttentionPart first = in->kv ? PART_K : PART_Q;
    Tensor *q = nn_part(f, in->q, PART_Q, PART_Q);
    Tensor *k = nn_part(f, source, first, PART_K), *v = nn_part(f, source, first, PART_V);
    AttentionTrace *trace = NULL;
    if (f->trace) trace = nn_trace_add(f->trace, k, a->name, in->reach.queries->count);
    Scoring scoring = {c->attention, &a->score, in->placed ? f : NULL};
    Tensor *z = nn_plain_attention(f->tape, &scoring, q, k, v, c->heads, &reach,
                                   trace ? trace->steps : NULL);
    if (trace) name_steps(f, trace, &reach);
    return z;
}

/* Returns Concat(head_1, …, head_h) W^O. */
static Tensor *multi_head(const Forward *f, Attention *a, const Heads *in) {
    Tensor *y = nn_project(f, &a->out, attend_in_heads(f, a, in));
    nn_trace_name(f->trace, f->tape, y, "Y", AXES(AXIS_UNKNOWN, AXIS_FEATURE));
    return y;
}

/* Not in the paper. Normalises the queries and keys, which are the first `heads` heads of x, if the
 * model has qk_norm. Rotates them by the positions of `tokens` if the model's positions are rotary;
 * NULL: no rotation. */
static Tensor *normalise_and_turn(const Forward *f, Tensor *x, long heads, const Tokens *tokens) {
    const ModelConfig *c = &f->model->config;
    bool turns = tokens && c->positions->turn && !f->model->unplaced;
    if (turns) return c->positions->turn(f, x, heads, tokens, c->qk_norm);
    return c->qk_norm ? tape_rotary(f->tape, x, heads, config_d_k(c), NULL, NULL, true) : x;
}

/* Returns q | k | v, the projections of x, which has one row for each token. */
static Tensor *project_qkv(const Forward *f, Attention *a, Tensor *x, const Tokens *tokens) {
    const ModelConfig *c = &f->model->config;
    Tensor *qkv = nn_linear(f, &a->in, x, ACT_NONE, NULL);
    return normalise_and_turn(f, qkv, config_column(c, PART_V) / config_d_k(c), tokens);
}

/* Returns the operands of self-attention over the sequences of `tokens`. */
static Heads heads_of(const Forward *f, Attention *a, Tensor *x, const Tokens *tokens,
                      bool masked) {
    const Sequences *s = &tokens->sequences;
    return (Heads){.q = project_qkv(f, a, x, tokens),
                   .reach = {s, s, .causal = masked},
                   .placed = !f->model->unplaced};
}

Tensor *nn_self_attention(const Forward *f, void *module, Tensor *x) {
    Heads all = heads_of(f, module, x, f->source, false);
    return multi_head(f, module, &all);
}

Tensor *nn_masked_self_attention(const Forward *f, void *module, Tensor *x) {
    Heads all = heads_of(f, module, x, f->target, !f->model->unmasked);
    if (f->cache) all = nn_heads_in_cache(f, all);
    return multi_head(f, module, &all);
}

/* Returns k | v of cross-attention: the encoder's output, f->memory, times the rows of W^K and W^V.
 * Decoding stores them in its cache; later passes have no f->memory and read the cache. */
static Tensor *memory_keys(const Forward *f, Attention *a) {
    const ModelConfig *c = &f->model->config;
    if (!f->memory) return nn_source_keys(f, NULL);
    Tensor *kv = nn_linear(f, &a->kv, f->memory, ACT_NONE, NULL);
    kv = normalise_and_turn(f, kv, config_columns(c, PART_K) / config_d_k(c), NULL);
    return f->cache ? nn_source_keys(f, kv) : kv;
}

/* Queries come from x, the decoder's tokens. Keys and values come from f->memory, the encoder's
 * output. Every target token attends to the whole source: there is no mask. */
Tensor *nn_cross_attention(const Forward *f, void *module, Tensor *x) {
    Attention *a = module;
    const ModelConfig *c = &f->model->config;
    Tensor *q = nn_linear(f, &a->q, x, ACT_NONE, NULL);
    q = normalise_and_turn(f, q, c->heads, NULL);
    Reach reach = {&f->target->sequences, &f->source->sequences, .causal = false};
    return multi_head(f, a, &(Heads){.q = q, .kv = memory_keys(f, a), .reach = reach});
}
