/* 3.1 Decoder: a stack of N identical layers with three sub-layers: self-attention, attention over the
 * encoder's output, and feed-forward. Self-attention is masked so that "the predictions for position i can
 * depend only on the known outputs at positions less than i". The task shifts the inputs right by one
 * position (tasks/batch.h). */
#include "nn/nn.h"

static Tensor *decoder_layer(const Forward *f, DecoderLayer *l, Tensor *x) {
    x = nn_add_and_norm(f, nn_masked_self_attention, &l->self_attention, &l->norm1, x);
    x = nn_add_and_norm(f, nn_cross_attention, &l->cross_attention, &l->norm2, x);
    return nn_add_and_norm(f, nn_feed_forward, &l->feed_forward, &l->norm3, x);
}

Tensor *nn_decoder(const Forward *f) {
    Model *m = f->model;
    if (f->cache) kv_cache_advance(f->cache, &f->target->sequences);
    Tensor *x = nn_embedding(f, f->target);
    for (int i = 0; i < m->config.decoder_layers; i++) x = decoder_layer(f, &m->decoder[i], x);
    return m->config.final_norm ? nn_norm(f, &m->decoder_norm, x) : x;
}
