/* 3.1 Encoder: "a stack of N identical layers. Each layer has two sub-layers": self-attention and
 * feed-forward.
 *
 * Deviation: with config.final_norm the stack ends in one more layer norm, as pre-norm needs; the paper has
 * none. */
#include "nn/nn.h"

static Tensor *encoder_layer(const Forward *f, EncoderLayer *l, Tensor *x) {
    x = nn_add_and_norm(f, nn_self_attention, &l->self_attention, &l->norm1, x);
    return nn_add_and_norm(f, nn_feed_forward, &l->feed_forward, &l->norm2, x);
}

Tensor *nn_encoder(const Forward *f) {
    Model *m = f->model;
    Tensor *x = nn_embedding(f, f->source);
    for (int i = 0; i < m->config.encoder_layers; i++) x = encoder_layer(f, &m->encoder[i], x);
    return m->config.final_norm ? nn_norm(f, &m->encoder_norm, x) : x;
}
