/* 3.2.2 Multi-head attention.
 *
 *     MultiHead(Q, K, V) = Concat(head_1, …, head_h) W^O      head_i = Attention(Q W_i^Q, K W_i^K, V W_i^V)
 *
 * One matrix product computes the projections of all heads: of q, k and v together in self-attention, of k
 * and v together in cross-attention. Each head then works on its own columns of the result. */
#include "nn/nn.h"
#include <stdio.h>

/* Low-rank adaptation (Hu et al., arXiv:2106.09685) of a matrix W that stays: x Wᵀ + (x Aᵀ) Bᵀ. B begins as 0. */
typedef struct Adapter {
    Tensor a, b; /* [rank, d_model], [d_model, rank] */
} Adapter;

/* W^Q, W^K, W^V of all heads, and W^O. As in PyTorch the three are one matrix [3·d_model, d_model]. Cross-attention
 * multiplies the target by its first d_model rows and the memory by the others. */
struct Attention {
    Linear in;    /* self-attention: q, k, v in one product */
    Linear q, kv; /* cross-attention: the same rows, split */
    Linear out;
    Tensor score;             /* [d_model], where the kind of attention has a weight */
    Adapter adapt_q, adapt_v; /* of W^Q and W^V, if config.lora */
    char name[PARAMETER_NAME];
};

static void add_adapter(Builder *b, const char *name, Adapter *l) {
    long d = b->config->d_model, rank = b->config->lora;
    if (!rank) return;
    size_t outside = build_enter(b, "%s", name);
    build_tensor(b, "a", SHAPE(rank, d), glorot(d, rank), &l->a);
    build_tensor(b, "b", SHAPE(d, rank), init_zeros, &l->b);
    build_leave(b, outside);
}

Attention *nn_attention_new(Builder *b, const char *name, bool cross) {
    const ModelConfig *c = b->config;
    long d = c->d_model;
    Attention *a = build_module(b, sizeof *a);
    snprintf(a->name, sizeof a->name, "%.40s%.20s", b->prefix, name);
    size_t outside = build_enter(b, "%s", name);
    Init init = glorot(d, d); /* each of the three on its own */
    if (cross) {
        build_split(b, "in_proj_weight", SHAPE(3 * d, d), init, &a->q.weight, d, &a->kv.weight);
        build_split(b, "in_proj_bias", SHAPE(3 * d), init_zeros, &a->q.bias, d, &a->kv.bias);
    } else {
        build_tensor(b, "in_proj_weight", SHAPE(3 * d, d), init, &a->in.weight);
        build_tensor(b, "in_proj_bias", SHAPE(3 * d), init_zeros, &a->in.bias);
    }
    build_linear(b, "out_proj", d, d, &a->out);
    if (c->attention->weight) build_tensor(b, "score_weight", SHAPE(d), glorot(d / c->heads, 1), &a->score);
    add_adapter(b, "lora_q", &a->adapt_q);
    add_adapter(b, "lora_v", &a->adapt_v);
    build_leave(b, outside);
    return a;
}

Tensor *nn_columns(const Forward *f, Tensor *x, long i) {
    long d = f->model->config.d_model;
    return tape_slice(f->tape, x, 1, i * d, (i + 1) * d);
}

/* The slopes of the heads where scores fall with the distance; NULL: they do not. */
static const real *slopes(const Forward *f) {
    const ModelConfig *c = &f->model->config;
    if (!c->positions->slopes || f->model->unplaced) return NULL;
    real *slope = tape_constant(f->tape, SHAPE(c->heads))->data;
    if (slope) c->positions->slopes(c->heads, slope);
    return slope;
}

/* Concat(head_1, …, head_h), [query rows, d_model], and in *trace its record, if there is a trace. */
static Tensor *attend_in_heads(const Forward *f, Attention *a, const Heads *in, AttentionTrace **trace) {
    const ModelConfig *c = &f->model->config;
    *trace = NULL;
    if (c->attention->fused && !f->trace)
        return tape_attention(f->tape, in->q, in->kv, NULL, c->heads, &in->reach,
                              f->model->attention_dropout);
    Tensor *q = nn_columns(f, in->q, 0);
    Tensor *k = in->kv ? nn_columns(f, in->kv, 0) : nn_columns(f, in->q, 1);
    Tensor *v = in->kv ? nn_columns(f, in->kv, 1) : nn_columns(f, in->q, 2);
    AttentionSteps *steps = NULL;
    if (f->trace) {
        *trace = nn_trace_add(f->trace, k, a->name, in->reach.queries->count);
        (*trace)->normalised = c->qk_norm;
        steps = (*trace)->steps;
    }
    return nn_plain_attention(f->tape, c->attention, &a->score, q, k, v, c->heads, &in->reach, steps);
}

/* Concat(head_1, …, head_h) W^O */
static Tensor *multi_head(const Forward *f, Attention *a, const Heads *in) {
    AttentionTrace *trace;
    Tensor *y = nn_project(f, &a->out, attend_in_heads(f, a, in, &trace));
    if (trace) trace->output = y;
    return y;
}

/* Not in the paper: normalises the first heads of x, queries and keys, and turns them by the positions of `tokens` (NULL:
 * no turn), where the model is configured so. */
static Tensor *normalise_and_turn(const Forward *f, Tensor *x, long heads, const Tokens *tokens) {
    const ModelConfig *c = &f->model->config;
    bool turns = tokens && c->positions->turn && !f->model->unplaced;
    if (turns) return c->positions->turn(f, x, heads, tokens, c->qk_norm);
    return c->qk_norm ? tape_rotary(f->tape, x, heads, c->d_model / c->heads, NULL, NULL, true) : x;
}

/* y = x Wᵀ, adapted */
static Tensor *adapt(const Forward *f, Adapter *l, Tensor *x, Tensor *y) {
    Tensor *inner = tape_linear(f->tape, x, &l->a, NULL, ACT_NONE, NULL);
    return tape_linear(f->tape, inner, &l->b, NULL, ACT_NONE, y);
}

/* q | k | v of the tokens whose rows x are. */
static Tensor *project_qkv(const Forward *f, Attention *a, Tensor *x, const Tokens *tokens) {
    Tensor *qkv = tape_linear(f->tape, x, &a->in.weight, &a->in.bias, ACT_NONE, NULL);
    if (f->model->config.lora) {
        Tensor *q = adapt(f, &a->adapt_q, x, nn_columns(f, qkv, 0)), *k = nn_columns(f, qkv, 1);
        Tensor *v = adapt(f, &a->adapt_v, x, nn_columns(f, qkv, 2));
        qkv = tape_concat(f->tape, 1, 3, (Tensor *[]){q, k, v});
    }
    return normalise_and_turn(f, qkv, 2L * f->model->config.heads, tokens);
}

Tensor *nn_self_attention(const Forward *f, void *module, Tensor *x) {
    const Sequences *s = &f->source->sequences;
    return multi_head(f, module,
                      &(Heads){project_qkv(f, module, x, f->source), NULL, {s, s, false, slopes(f)}});
}

Tensor *nn_masked_self_attention(const Forward *f, void *module, Tensor *x) {
    const Sequences *s = &f->target->sequences;
    Heads all = {project_qkv(f, module, x, f->target), NULL, {s, s, !f->model->unmasked, slopes(f)}};
    if (f->cache || s->longest > f->model->config.max_length) all = nn_heads_in_context(f, all);
    return multi_head(f, module, &all);
}

Tensor *nn_cross_attention(const Forward *f, void *module, Tensor *x) {
    Attention *a = module;
    long h = f->model->config.heads;
    Tensor *q = tape_linear(f->tape, x, &a->q.weight, &a->q.bias, ACT_NONE, NULL), *kv = NULL;
    if (f->model->config.lora) q = adapt(f, &a->adapt_q, x, q);
    q = normalise_and_turn(f, q, h, NULL);
    if (f->memory) kv = tape_linear(f->tape, f->memory, &a->kv.weight, &a->kv.bias, ACT_NONE, NULL);
    if (kv && f->model->config.lora) {
        Tensor *v = adapt(f, &a->adapt_v, f->memory, nn_columns(f, kv, 1));
        kv = tape_concat(f->tape, 1, 2, (Tensor *[]){nn_columns(f, kv, 0), v});
    }
    if (kv) kv = normalise_and_turn(f, kv, h, NULL);
    if (f->cache) kv = nn_source_keys(f, kv);
    return multi_head(f, a, &(Heads){q, kv, {&f->target->sequences, &f->source->sequences, false}});
}
