/* 3.2.1 Scaled dot-product attention, in the paper's own steps:
 *
 *     Attention(Q, K, V) = softmax(Q Kᵀ / √d_k) V
 *
 * for every head of every sequence. ops/attention.c computes the same in blocks, without holding
 * the matrix of weights. These steps run with `--attention plain`, with other scores than Q Kᵀ
 * (AttentionKind: choices.h), and where a trace shows them (trace.h). */
#include "autograd/op.h"
#include "nn/nn.h"
#include <math.h>

/* Rows [start, start + n) of x, split into heads: [rows, d_model] to [h, n, d_k]. */
static Tensor *split_heads(Tape *t, Tensor *x, int heads, long start, long n) {
    long d_k = x->shape.size[1] / heads;
    Tensor *rows = tape_slice(t, x, 0, start, start + n);
    return tape_transpose(t, tape_reshape(t, rows, SHAPE(n, heads, d_k)), 0, 1);
}

/* Concatenates the heads: [h, n, d_k] to [n, d_model]. */
static Tensor *join_heads(Tape *t, Tensor *z) {
    long h = z->shape.size[0], n = z->shape.size[1], d_k = z->shape.size[2];
    return tape_reshape(t, tape_transpose(t, z, 0, 1), SHAPE(n, h * d_k));
}

/* 3.2.3: sets the scores of all keys later than the query to −∞, before the softmax: the causal
 * mask. Only passes whose queries and keys are the same tokens have it: query i is key i. The mask
 * lives on the tape, because backward reads it again. */
static Tensor *hide_later(Tape *t, Tensor *scores) {
    long n = scores->shape.size[1], m = scores->shape.size[2];
    uint8_t *hidden = node_memory(scores->maker, (size_t)(n * m));
    for (long i = 0; i < n; i++)
        for (long j = i + 1; j < m; j++) hidden[i * m + j] = 1;
    return tape_masked_fill(t, scores, hidden, SHAPE(n, m), (real)-INFINITY);
}

/* Attention of one sequence: its queries q, keys k and values v, split into heads. `reach` says
 * which keys a query attends to. Query i stands at key i + offset; with a causal mask the offset is
 * 0. */
static AttentionSteps attend(Tape *t, const Scoring *scoring, Tensor *q, Tensor *k, Tensor *v,
                             const Reach *reach, long offset) {
    double d_k = (double)q->shape.size[2];
    AttentionSteps s = {.q = q, .k = k, .v = v};
    s.scores = scoring->kind->scores(t, q, k, scoring->weight);
    s.scaled = scoring->kind->scaled ? tape_scale(t, s.scores, (real)(1 / sqrt(d_k))) : s.scores;
    const Forward *f = scoring->placed;
    if (f && f->model->config.positions->scores)
        s.scaled = f->model->config.positions->scores(f, s.scaled, offset);
    s.masked = reach->causal ? hide_later(t, s.scaled) : s.scaled;
    s.weights = tape_softmax(t, s.masked, -1);
    s.z = tape_matmul(t, s.weights, v);
    s.concatenation = join_heads(t, s.z);
    return s;
}

/* Concatenates the outputs of all sequences. Each tape_concat joins up to MAX_INPUTS of them, so
 * that an output is copied few times. */
static Tensor *join_sequences(Tape *t, Tensor **z, long count) {
    while (count > 1) {
        long joined = 0;
        for (long first = 0; first < count; first += MAX_INPUTS) {
            long parts = count - first < MAX_INPUTS ? count - first : MAX_INPUTS;
            z[joined++] = tape_concat(t, 0, (int)parts, z + first);
        }
        count = joined;
    }
    return z[0];
}

Tensor *nn_plain_attention(Tape *t, const Scoring *scoring, Tensor *q, Tensor *k, Tensor *v,
                           int heads, const Reach *reach, AttentionSteps *steps) {
    const Sequences *queries = reach->queries, *keys = reach->keys;
    Tensor **z = NULL;
    for (long s = 0; s < queries->count; s++) {
        long n = queries->rows[s], m = keys->length[s], offset = m - queries->length[s];
        Tensor *q_heads = split_heads(t, q, heads, queries->start[s], n);
        Tensor *k_heads = split_heads(t, k, heads, keys->start[s], m);
        Tensor *v_heads = split_heads(t, v, heads, keys->start[s], m);
        AttentionSteps found = attend(t, scoring, q_heads, k_heads, v_heads, reach, offset);
        if (!z)
            z = node_memory(found.concatenation->maker, (size_t)queries->count * sizeof(Tensor *));
        z[s] = found.concatenation;
        if (steps) steps[s] = found;
    }
    return join_sequences(t, z, queries->count);
}
