/* 3.1 Encoder: "a stack of N identical layers. Each layer has two sub-layers": self-attention and
 * feed-forward.
 *
 * Deviation: with config.final_norm the stack ends in one more layer norm, as pre-norm needs; the
 * paper has none. */
#include "nn/nn.h"

/* Figure 1, left. */
struct EncoderLayer {
    Attention *self_attention;
    FeedForward *feed_forward;
    Norm *norm1, *norm2;
};

EncoderLayer *nn_encoder_new(Builder *b) {
    int N = b->config->encoder_layers;
    EncoderLayer *layers = build_module(b, (size_t)N * sizeof *layers);
    for (int i = 0; i < N; i++) {
        EncoderLayer *l = &layers[i];
        size_t outside = build_enter(b, "encoder.layers.%d", i);
        l->self_attention = nn_attention_new(b, "self_attn", false);
        l->feed_forward = nn_feed_forward_new(b);
        l->norm1 = nn_norm_new(b, "norm1");
        l->norm2 = nn_norm_new(b, "norm2");
        build_leave(b, outside);
    }
    return layers;
}

static Tensor *encoder_layer(const Forward *f, EncoderLayer *l, Sublayer *self_attention,
                             Tensor *x) {
    x = nn_add_and_norm(f, self_attention, l->self_attention, l->norm1, x);
    return nn_add_and_norm(f, nn_feed_forward, l->feed_forward, l->norm2, x);
}

Tensor *nn_encoder_stack(const Forward *f, Sublayer *self_attention, Tensor *x) {
    Model *m = f->model;
    Forward at = *f;
    for (at.layer = 0; at.layer < m->config.encoder_layers; at.layer++)
        x = encoder_layer(&at, &m->encoder[at.layer], self_attention, x);
    return m->encoder_norm ? nn_norm(f, m->encoder_norm, x) : x;
}

Tensor *nn_encoder(const Forward *f) {
    return nn_encoder_stack(f, nn_self_attention, nn_embedding(f, f->source));
}
