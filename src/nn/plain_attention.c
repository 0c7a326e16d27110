/* 3.2.1 Scaled dot-product attention, as the paper writes it:
 *
 *     Attention(Q, K, V) = softmax(Q Kᵀ / √d_k) V
 *
 * in every head of every sequence by itself. ops/attention.c computes the same in blocks, without ever holding the
 * whole matrix of weights. */
#include "autograd/op.h"
#include "nn/trace.h"
#include <math.h>

/* Rows start … start + n - 1 of x, each head by itself: [rows, d_model] to [h, n, d_k]. */
static Tensor *split_heads(Tape *t, Tensor *x, int heads, long start, long n) {
    long d_k = x->shape.size[1] / heads;
    Tensor *rows = tape_slice(t, x, 0, start, start + n);
    return tape_transpose(t, tape_reshape(t, rows, SHAPE(n, heads, d_k)), 0, 1);
}

/* The heads side by side again: [h, n, d_k] to [n, d_model]. */
static Tensor *join_heads(Tape *t, Tensor *z) {
    long h = z->shape.size[0], n = z->shape.size[1], d_k = z->shape.size[2];
    return tape_reshape(t, tape_transpose(t, z, 0, 1), SHAPE(n, h * d_k));
}

/* 3.2.3: "masking out (setting to −∞) all values in the input of the softmax which correspond to illegal
 * connections": to keys behind the query. */
static Tensor *hide_later(Tape *t, Tensor *scores) {
    long n = scores->shape.size[1], m = scores->shape.size[2];
    uint8_t *hidden = node_record(scores->maker, (size_t)(n * m));
    for (long i = 0; i < n; i++)
        for (long j = i + 1; j < m; j++) hidden[i * m + j] = 1;
    return tape_masked_fill(t, scores, hidden, SHAPE(n, m), (real)-INFINITY);
}

/* Σ_c w_c tanh(q_ic + k_jc): [h, n, m]. Bahdanau et al., arXiv:1409.0473. */
static Tensor *additive_scores(Tape *t, Tensor *q, Tensor *k, Tensor *w) {
    long h = q->shape.size[0], n = q->shape.size[1], m = k->shape.size[1], d_k = q->shape.size[2];
    Tensor *each = tape_reshape(t, tape_contiguous(t, q), SHAPE(h, n, 1, d_k));
    Tensor *other = tape_reshape(t, tape_contiguous(t, k), SHAPE(h, 1, m, d_k));
    Tensor *u = tape_tanh(t, tape_add(t, each, other));
    Tensor *scores = tape_sum(t, tape_mul(t, u, tape_reshape(t, w, SHAPE(h, 1, 1, d_k))), -1);
    return tape_reshape(t, scores, SHAPE(h, n, m));
}

static AttentionSteps attend(Tape *t, Tensor *q, Tensor *k, Tensor *v, Tensor *w, bool causal) {
    double d_k = (double)q->shape.size[2];
    AttentionSteps s = {.q = q, .k = k, .v = v};
    s.scores = w ? additive_scores(t, q, k, w) : tape_matmul(t, q, tape_transpose(t, k, 1, 2));
    s.scaled = w ? s.scores : tape_scale(t, s.scores, (real)(1 / sqrt(d_k)));
    s.masked = causal ? hide_later(t, s.scaled) : s.scaled;
    s.weights = tape_softmax(t, s.masked, -1);
    s.z = tape_matmul(t, s.weights, v);
    s.concatenation = join_heads(t, s.z);
    return s;
}

Tensor *nn_plain_attention(Tape *t, Tensor *q, Tensor *k, Tensor *v, Tensor *w, int heads,
                           const Sequences *queries, const Sequences *keys, bool causal,
                           AttentionSteps *steps) {
    Tensor *all = NULL;
    for (long s = 0; s < queries->count; s++) {
        long first = keys->start[s], m = keys->length[s]; /* keys that are padding are cut away */
        AttentionSteps found =
            attend(t, split_heads(t, q, heads, queries->start[s], queries->rows[s]),
                   split_heads(t, k, heads, first, m), split_heads(t, v, heads, first, m), w, causal);
        all = all ? tape_concat(t, 0, 2, (Tensor *[]){all, found.concatenation}) : found.concatenation;
        if (steps) steps[s] = found;
    }
    return all;
}
