/* Decoder-only language model (Liu et al., arXiv:1801.10198; GPT): a stack of N identical layers with two
 * sub-layers, masked self-attention and feed-forward. Every position attends to itself and earlier ones and
 * predicts the next token. There is no source, hence no cross-attention. Weight files call the layers
 * encoder.layers.I, as PyTorch builds such a model of nn.TransformerEncoderLayer. */
#include "nn/nn.h"

static Tensor *layer(const Forward *f, LanguageModelLayer *l, Tensor *x) {
    x = nn_add_and_norm(f, nn_masked_self_attention, &l->self_attention, &l->norm1, x);
    return nn_add_and_norm(f, nn_feed_forward, &l->feed_forward, &l->norm2, x);
}

Tensor *nn_language_model(const Forward *f) {
    Model *m = f->model;
    if (f->cache) kv_cache_advance(f->cache, &f->target->sequences);
    Tensor *x = nn_embedding(f, f->target);
    for (int i = 0; i < m->config.encoder_layers; i++) x = layer(f, &m->language_model[i], x);
    return m->config.final_norm ? nn_norm(f, &m->final_norm, x) : x;
}
