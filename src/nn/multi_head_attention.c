/* 3.2 Attention.
 *
 *     MultiHead(Q, K, V) = Concat(head_1, …, head_h) W^O      head_i = Attention(Q W_i^Q, K W_i^K, V W_i^V)
 *
 * The projections of all heads, and for one input of q, k and v together, are one matrix product; each head
 * then works on its own columns of the result. */
#include "nn/nn.h"

/* What attention is between, and who may look where. */
typedef struct Heads {
    Tensor *q, *kv; /* without kv the columns of q are q, k and v */
    const Sequences *queries, *keys;
    bool causal;
} Heads;

static Tensor *third(Tape *t, Tensor *x, long i, long d) {
    return tape_slice(t, x, 1, i * d, (i + 1) * d);
}

/* The parts of what attention reads, each [rows, d_model]. */
static Tensor *query(const Forward *f, const Heads *in) {
    return third(f->tape, in->q, 0, f->model->config.d_model);
}

static Tensor *key(const Forward *f, const Heads *in) {
    return third(f->tape, in->kv ? in->kv : in->q, in->kv ? 0 : 1, f->model->config.d_model);
}

static Tensor *value(const Forward *f, const Heads *in) {
    return third(f->tape, in->kv ? in->kv : in->q, in->kv ? 1 : 2, f->model->config.d_model);
}

/* Step by step, for the trace. */
static Tensor *traced(const Forward *f, Attention *a, const Heads *in, Tensor *residual) {
    Tape *t = f->tape;
    Tensor *q = query(f, in), *k = key(f, in), *v = value(f, in);
    AttentionTrace *trace = nn_trace_add(f->trace, k, a->name, in->queries->count);
    Tensor *score = f->model->config.attention == ATTENTION_ADDITIVE ? &a->score : NULL;
    Tensor *z = nn_plain_attention(t, q, k, v, score, f->model->config.heads, in->queries, in->keys,
                                   in->causal, trace->steps);
    Tensor *y = tape_linear(t, z, &a->out.weight, &a->out.bias, ACT_NONE, NULL);
    for (long s = 0; s < trace->sequences; s++) {
        long start = in->queries->start[s];
        trace->steps[s].output = tape_slice(t, y, 0, start, start + in->queries->rows[s]);
    }
    return tape_residual(t, residual, y, f->model->dropout);
}

/* residual + Dropout(Concat(head_1, …, head_h) W^O) */
static Tensor *multi_head(const Forward *f, Attention *a, const Heads *in, Tensor *residual) {
    if (f->trace) return traced(f, a, in, residual);
    int h = f->model->config.heads;
    Tensor *z = f->model->config.attention == ATTENTION_ADDITIVE
                    ? tape_additive_attention(f->tape, query(f, in), key(f, in), value(f, in), &a->score, h,
                                              in->queries, in->keys, in->causal)
                    : tape_attention(f->tape, in->q, in->kv, NULL, h, in->queries, in->keys, in->causal);
    return nn_add(f, residual, &a->out, z);
}

/* Queries, keys and values all come from x. In the decoder, and in a language model, later positions are hidden. */
Tensor *nn_self_attention(const Forward *f, void *module, Tensor *x, Tensor *residual) {
    Attention *a = module;
    f->tape->recorder = __func__;
    const Sequences *s = &(a->of_target ? f->target : f->source)->sequences;
    KvLayer *past = a->of_target ? kv_layer(f->cache, a->layer) : NULL;
    Tensor *qkv = tape_linear(f->tape, x, &a->in.weight, &a->in.bias, ACT_NONE, NULL);
    if (past) kv_layer_append(past, qkv, s);
    if (!past || s->longest > 1) return multi_head(f, a, &(Heads){qkv, NULL, s, s, a->of_target}, residual);
    /* The only new token of its sequence sees all that is there. */
    Tensor *q = third(f->tape, qkv, 0, f->model->config.d_model);
    return multi_head(f, a, &(Heads){q, &past->own, s, &past->cache->keys, false}, residual);
}

/* Queries come from the decoder, keys and values from the encoder's output, the memory. */
Tensor *nn_cross_attention(const Forward *f, void *module, Tensor *x, Tensor *residual) {
    Attention *a = module;
    f->tape->recorder = __func__;
    KvLayer *past = kv_layer(f->cache, a->layer);
    Tensor *q = tape_linear(f->tape, x, &a->q.weight, &a->q.bias, ACT_NONE, NULL);
    Tensor *kv = f->memory ? tape_linear(f->tape, f->memory, &a->kv.weight, &a->kv.bias, ACT_NONE, NULL)
                           : &past->source;
    if (f->memory && past) kv_layer_keep_source(past, kv);
    return multi_head(f, a, &(Heads){q, kv, &f->target->sequences, &f->source->sequences, false}, residual);
}
