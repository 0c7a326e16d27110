/* 3.2.2 Multi-head attention.
 *
 *     MultiHead(Q, K, V) = Concat(head_1, …, head_h) W^O      head_i = Attention(Q W_i^Q, K W_i^K, V W_i^V)
 *
 * One matrix product computes the projections of all heads: of q, k and v together in self-attention, of k
 * and v together in cross-attention. Each head then works on its own columns of the result. */
#include "autograd/op.h"
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
        return tape_attention(f->tape, in->q, in->kv, NULL, c->heads, in->queries, in->keys, in->causal,
                              f->model->attention_dropout);
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
    if (trace) trace->output = y;
    return y;
}

/* Not in the paper: normalises the first heads of x, queries and keys, and turns them by the positions of `tokens` (NULL:
 * no turn), where the model is configured so. */
static Tensor *normalise_and_turn(const Forward *f, Tensor *x, long heads, const Tokens *tokens) {
    const ModelConfig *c = &f->model->config;
    const int32_t *at = NULL;
    bool turns = tokens && c->positions == POSITIONS_ROTARY && !f->model->unplaced;
    if (!turns && !c->qk_norm) return x;
    const real *table = turns ? nn_turns(f, tokens, &at) : NULL;
    return tape_rotary(f->tape, x, heads, c->d_model / c->heads, at, table, c->qk_norm);
}

static Tensor *project_qkv(const Forward *f, Attention *a, Tensor *x, const Tokens *tokens) {
    Tensor *qkv = tape_linear(f->tape, x, &a->in.weight, &a->in.bias, ACT_NONE, NULL);
    return normalise_and_turn(f, qkv, 2L * f->model->config.heads, tokens);
}

Tensor *nn_self_attention(const Forward *f, void *module, Tensor *x) {
    const Sequences *s = &f->source->sequences;
    f->tape->recorder = __func__;
    return multi_head(f, module, &(Heads){project_qkv(f, module, x, f->source), NULL, s, s, false});
}

/* Masked attention of a pass longer than the model's context: each token attends to the max_length newest, itself
 * included. The windows overlap, so the tape must have no_grad. */
static Tensor *windows(const Forward *f, Attention *a, Tensor *qkv) {
    const Sequences *s = &f->target->sequences;
    long n = s->total_rows;
    Tensor *kv = tape_concat(f->tape, 1, 2, (Tensor *[]){block(f, qkv, 1), block(f, qkv, 2)});
    Sequences *each = node_record(kv->maker, 2 * sizeof *each);
    int32_t *row = node_record(kv->maker, 4 * (size_t)n * sizeof *row), *one = row + n, *start = one + n;
    int32_t *length = start + n, room = (int32_t)f->model->config.max_length;
    for (long i = 0; s->start && i < s->count; i++)
        for (int32_t t = 0, at = s->start[i]; t < s->rows[i]; t++, at++) {
            row[at] = at, one[at] = 1;
            length[at] = t < room ? t + 1 : room;
            start[at] = at + 1 - length[at];
        }
    each[0] = (Sequences){n, row, one, one, n, 1};
    each[1] = (Sequences){n, start, length, length, n, room};
    return multi_head(f, a, &(Heads){block(f, qkv, 0), kv, &each[0], &each[1], false});
}

Tensor *nn_masked_self_attention(const Forward *f, void *module, Tensor *x) {
    Attention *a = module;
    const Sequences *s = &f->target->sequences;
    KvLayer *past = f->cache ? &f->cache->layer[a->layer] : NULL;
    f->tape->recorder = __func__;
    Tensor *qkv = project_qkv(f, a, x, f->target);
    if (past) kv_layer_append(past, qkv, s);
    if (s->longest > f->model->config.max_length) return windows(f, a, qkv);
    if (!past || s->longest > 1) return multi_head(f, a, &(Heads){qkv, NULL, s, s, !f->model->unmasked});
    /* The newest token of its sequence attends to all that the cache holds. */
    return multi_head(f, a, &(Heads){block(f, qkv, 0), &past->own, s, &past->cache->keys, false});
}

Tensor *nn_cross_attention(const Forward *f, void *module, Tensor *x) {
    Attention *a = module;
    KvLayer *past = f->cache ? &f->cache->layer[a->layer] : NULL;
    f->tape->recorder = __func__;
    long h = f->model->config.heads;
    Tensor *q = tape_linear(f->tape, x, &a->q.weight, &a->q.bias, ACT_NONE, NULL), *kv = NULL;
    q = normalise_and_turn(f, q, h, NULL);
    if (f->memory) kv = tape_linear(f->tape, f->memory, &a->kv.weight, &a->kv.bias, ACT_NONE, NULL);
    kv = kv ? normalise_and_turn(f, kv, h, NULL) : &past->source;
    if (f->memory && past) kv_layer_keep_source(past, kv);
    return multi_head(f, a, &(Heads){q, kv, &f->target->sequences, &f->source->sequences, false});
}
