/* 3.1 Decoder: as the encoder, with a third sub-layer between the two, attention over the encoder's output,
 * and with self-attention masked so that "the predictions for position i can depend only on the known outputs
 * at positions less than i". The inputs are shifted right by one position: that is the task's doing
 * (tasks/batch.h). */
#include "nn/nn.h"

static Tensor *decoder_layer(Tape *t, const Model *m, DecoderLayer *l, Tensor *x, const Sequences *s,
                             Tensor *memory, const Sequences *memory_s, KvLayer *past) {
    Tensor *y = nn_norm_before(t, m, &l->norm1, x);
    y = nn_self_attention(t, &l->self_attention, m->config.heads, y, s, true, past);
    x = nn_add(t, m, x, &l->self_attention.out, y);
    x = nn_norm_after(t, m, &l->norm1, x);

    y = nn_norm_before(t, m, &l->norm2, x);
    y = nn_cross_attention(t, &l->cross_attention, m->config.heads, y, s, memory, memory_s, past);
    x = nn_add(t, m, x, &l->cross_attention.out, y);
    x = nn_norm_after(t, m, &l->norm2, x);

    y = nn_norm_before(t, m, &l->norm3, x);
    y = nn_feed_forward(t, &l->feed_forward, m->config.activation, y);
    x = nn_add(t, m, x, &l->feed_forward.out, y);
    return nn_norm_after(t, m, &l->norm3, x);
}

Tensor *nn_decoder(Tape *t, Model *m, const Tokens *tokens, Tensor *memory, const Tokens *source) {
    if (tokens->cache) kv_cache_advance(tokens->cache, &tokens->sequences);
    Tensor *x = nn_embedding(t, m, tokens);
    for (int i = 0; i < m->config.decoder_layers; i++)
        x = decoder_layer(t, m, &m->decoder[i], x, &tokens->sequences, memory, &source->sequences,
                          kv_layer(tokens->cache, i));
    return m->config.final_norm ? nn_norm(t, &m->decoder_norm, x) : x;
}
