/* 3.2.2 Multi-head attention.
 *
 *     MultiHead(Q, K, V) = Concat(head_1, …, head_h) W^O      head_i = Attention(Q W_i^Q, K W_i^K, V W_i^V)
 *
 * One matrix product computes the projections of all heads: of q, k and v together in self-attention, of k
 * and v together in cross-attention. Each head then works on its own columns of the result. */
#include "nn/nn.h"

/* The operands of attention. Without kv the columns of q are q, k and v. */
typedef struct Heads {
    Tensor *q, *kv;
    const Sequences *queries, *keys;
    bool causal;
} Heads;

/* Columns [i d_model, (i + 1) d_model) of x. */
static Tensor *block(const Forward *f, Tensor *x, long i) {
    long d = f->model->config.d_model;
    return tape_slice(f->tape, x, 1, i * d, (i + 1) * d);
}

/* Concat(head_1, …, head_h), [query rows, d_model] */
static Tensor *heads(const Forward *f, Attention *a, const Heads *in, AttentionTrace **trace) {
    const ModelConfig *c = &f->model->config;
    if (c->attention == ATTENTION_DOT && !f->trace)
        return tape_attention(f->tape, in->q, in->kv, NULL, c->heads, in->queries, in->keys, in->causal);
    Tensor *q = block(f, in->q, 0), *w = c->attention == ATTENTION_ADDITIVE ? &a->score : NULL;
    Tensor *k = in->kv ? block(f, in->kv, 0) : block(f, in->q, 1);
    Tensor *v = in->kv ? block(f, in->kv, 1) : block(f, in->q, 2);
    if (f->trace) *trace = nn_trace_add(f->trace, k, a->name, in->queries->count);
    return nn_plain_attention(f->tape, q, k, v, w, c->heads, in->queries, in->keys, in->causal,
                              f->trace ? (*trace)->steps : NULL);
}

/* Concat(head_1, …, head_h) W^O */
static Tensor *multi_head(const Forward *f, Attention *a, const Heads *in) {
    AttentionTrace *trace = NULL;
    Tensor *y = nn_project(f, &a->out, heads(f, a, in, &trace));
    for (long s = 0; trace && s < trace->sequences; s++) {
        long start = in->queries->start[s];
        trace->steps[s].output = tape_slice(f->tape, y, 0, start, start + in->queries->rows[s]);
    }
    return y;
}

static Tensor *project_qkv(const Forward *f, Attention *a, Tensor *x) {
    return tape_linear(f->tape, x, &a->in.weight, &a->in.bias, ACT_NONE, NULL);
}

Tensor *nn_self_attention(const Forward *f, void *module, Tensor *x) {
    const Sequences *s = &f->source->sequences;
    f->tape->recorder = __func__;
    return multi_head(f, module, &(Heads){project_qkv(f, module, x), NULL, s, s, false});
}

Tensor *nn_masked_self_attention(const Forward *f, void *module, Tensor *x) {
    Attention *a = module;
    const Sequences *s = &f->target->sequences;
    KvLayer *past = kv_layer(f->cache, a->layer);
    f->tape->recorder = __func__;
    Tensor *qkv = project_qkv(f, a, x);
    if (past) kv_layer_append(past, qkv, s);
    if (!past || s->longest > 1) return multi_head(f, a, &(Heads){qkv, NULL, s, s, true});
    /* The newest token of its sequence attends to all that the cache holds. */
    return multi_head(f, a, &(Heads){block(f, qkv, 0), &past->own, s, &past->cache->keys, false});
}

Tensor *nn_cross_attention(const Forward *f, void *module, Tensor *x) {
    Attention *a = module;
    KvLayer *past = kv_layer(f->cache, a->layer);
    f->tape->recorder = __func__;
    Tensor *q = tape_linear(f->tape, x, &a->q.weight, &a->q.bias, ACT_NONE, NULL);
    Tensor *kv = f->memory ? tape_linear(f->tape, f->memory, &a->kv.weight, &a->kv.bias, ACT_NONE, NULL)
                           : &past->source;
    if (f->memory && past) kv_layer_keep_source(past, kv);
    return multi_head(f, a, &(Heads){q, kv, &f->target->sequences, &f->source->sequences, false});
}
