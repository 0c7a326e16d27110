/* 3.2.1: the score of a query and a key, of all pairs in all heads. */
#include "nn/choices.h"

/* Q Kᵀ */
static Tensor *dot(Tape *t, Tensor *q, Tensor *k, Tensor *w) {
    (void)w;
    return tape_matmul(t, q, tape_transpose(t, k, 1, 2));
}

/* Σ_c w_c tanh(q_ic + k_jc). Bahdanau et al., arXiv:1409.0473. */
static Tensor *additive(Tape *t, Tensor *q, Tensor *k, Tensor *w) {
    long h = q->shape.size[0], n = q->shape.size[1], m = k->shape.size[1], d_k = q->shape.size[2];
    q = tape_reshape(t, tape_contiguous(t, q), SHAPE(h, n, 1, d_k));
    k = tape_reshape(t, tape_contiguous(t, k), SHAPE(h, 1, m, d_k));
    Tensor *u = tape_tanh(t, tape_add(t, q, k));
    Tensor *scores = tape_sum(t, tape_mul(t, u, tape_reshape(t, w, SHAPE(h, 1, 1, d_k))), -1);
    return tape_reshape(t, scores, SHAPE(h, n, m));
}

const AttentionKind attention_dot = {{"dot"}, .fused = true, .scores = dot, .scaled = true};

/* The same, always step by step (plain_attention.c). */
const AttentionKind attention_plain = {{"plain"}, .scores = dot, .scaled = true};

const AttentionKind attention_additive = {
    {"additive"},
    .scores = additive,
    .inner = 3,
    .weight = true,
};
