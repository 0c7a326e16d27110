/* 3.1 Encoder: "a stack of N identical layers. Each layer has two sub-layers": self-attention and
 * feed-forward.
 *
 * Deviation: with config.final_norm the stack ends in one more layer norm, as pre-norm needs; the paper has
 * none. */
#include "nn/nn.h"

static Tensor *encoder_layer(Tape *t, const Model *m, EncoderLayer *l, Tensor *x, const Sequences *s,
                             bool causal, KvLayer *past) {
    Tensor *y = nn_norm_before(t, m, &l->norm1, x);
    y = nn_self_attention(t, &l->self_attention, m->config.heads, y, s, causal, past);
    x = nn_add(t, m, x, &l->self_attention.out, y);
    x = nn_norm_after(t, m, &l->norm1, x);

    y = nn_norm_before(t, m, &l->norm2, x);
    y = nn_feed_forward(t, &l->feed_forward, m->config.activation, y);
    x = nn_add(t, m, x, &l->feed_forward.out, y);
    return nn_norm_after(t, m, &l->norm2, x);
}

Tensor *nn_encoder(Tape *t, Model *m, const Tokens *tokens, bool causal) {
    if (tokens->cache) kv_cache_advance(tokens->cache, &tokens->sequences);
    Tensor *x = nn_embedding(t, m, tokens);
    for (int i = 0; i < m->config.encoder_layers; i++)
        x = encoder_layer(t, m, &m->encoder[i], x, &tokens->sequences, causal, kv_layer(tokens->cache, i));
    return m->config.final_norm ? nn_norm(t, &m->encoder_norm, x) : x;
}
