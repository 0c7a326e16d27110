/* 3.2 Attention.
 *
 *     MultiHead(Q, K, V) = Concat(head_1, …, head_h) W^O      head_i = Attention(Q W_i^Q, K W_i^K, V W_i^V)
 *
 * The projections of all heads, and for one input of q, k and v together, are one matrix product; each head
 * then works on its own columns of the result (ops/attention.c). W^O is applied by nn_add, together with the
 * residual. */
#include "nn/nn.h"

/* Queries, keys and values all come from x. In the decoder, and in a language model, `causal` hides later
 * positions. */
Tensor *nn_self_attention(Tape *t, Attention *a, int heads, Tensor *x, const Sequences *s, bool causal,
                          KvLayer *past) {
    Tensor *qkv = tape_linear(t, x, &a->in.weight, &a->in.bias, ACT_NONE, NULL);
    if (past) kv_layer_append(past, qkv, s);
    if (!past || s->longest > 1) return tape_attention(t, qkv, NULL, NULL, heads, s, s, causal);
    /* The only new token of its sequence sees all that is there. */
    Tensor *q = tape_slice(t, qkv, 1, 0, x->shape.size[1]);
    return tape_attention(t, q, &past->own, NULL, heads, s, &past->cache->keys, false);
}

/* Queries come from the decoder, keys and values from the encoder's output, the memory. */
Tensor *nn_cross_attention(Tape *t, Attention *a, int heads, Tensor *x, const Sequences *s, Tensor *memory,
                           const Sequences *memory_s, KvLayer *past) {
    Tensor *q = tape_linear(t, x, &a->q.weight, &a->q.bias, ACT_NONE, NULL);
    Tensor *kv = memory ? tape_linear(t, memory, &a->kv.weight, &a->kv.bias, ACT_NONE, NULL) : &past->source;
    if (memory && past) kv_layer_keep_source(past, kv);
    return tape_attention(t, q, kv, NULL, heads, s, memory_s, false);
}
