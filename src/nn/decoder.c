/* 3.1 Decoder: as the encoder, with a third sub-layer between the two, attention over the encoder's output,
 * and with self-attention masked so that "the predictions for position i can depend only on the known outputs
 * at positions less than i". The inputs are shifted right by one position: that is the task's doing
 * (tasks/batch.h). */
#include "nn/nn.h"

static Tensor *decoder_layer(const Forward *f, DecoderLayer *l, Tensor *x) {
    x = nn_add_and_norm(f, nn_self_attention, &l->self_attention, &l->norm1, x);
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
