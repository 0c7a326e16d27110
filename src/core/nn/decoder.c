/* 3.1 Decoder: a stack of N identical layers with three sub-layers: self-attention, attention over
 * the encoder's output, and feed-forward. Self-attention is masked so that "the predictions for
 * position i can depend only on the known outputs at positions less than i". The task shifts the
 * inputs right by one position (tasks/batch.h). */
#include "nn/nn.h"

/* Figure 1, right. */
struct DecoderLayer {
    Attention *self_attention, *cross_attention;
    FeedForward *feed_forward;
    Norm *norm1, *norm2, *norm3;
};

DecoderLayer *nn_decoder_new(Builder *b) {
    int N = b->config->decoder_layers;
    DecoderLayer *layers = build_module(b, (size_t)N * sizeof *layers);
    for (int i = 0; i < N; i++) {
        DecoderLayer *l = &layers[i];
        size_t outside = build_enter(b, "decoder.layers.%d", i);
        l->self_attention = nn_attention_new(b, "self_attn", false);
        l->cross_attention = nn_attention_new(b, "multihead_attn", true);
        l->feed_forward = nn_feed_forward_new(b);
        l->norm1 = nn_norm_new(b, "norm1");
        l->norm2 = nn_norm_new(b, "norm2");
        l->norm3 = nn_norm_new(b, "norm3");
        build_leave(b, outside);
    }
    return layers;
}

static Tensor *decoder_layer(const Forward *f, DecoderLayer *l, Tensor *x) {
    x = nn_add_and_norm(f, nn_masked_self_attention, l->self_attention, l->norm1, x);
    x = nn_add_and_norm(f, nn_cross_attention, l->cross_attention, l->norm2, x);
    return nn_add_and_norm(f, nn_feed_forward, l->feed_forward, l->norm3, x);
}

Tensor *nn_decoder(const Forward *f) {
    Model *m = f->model;
    Forward at = *f;
    if (f->cache)
        kv_cache_advance(f->cache, &f->target->sequences); /* adds rows for these tokens */
    Tensor *x = nn_embedding(f, f->target);
    for (at.layer = 0; at.layer < m->config.decoder_layers; at.layer++)
        x = decoder_layer(&at, &m->decoder[at.layer], x);
    return m->decoder_norm ? nn_norm(f, m->decoder_norm, x) : x;
}
