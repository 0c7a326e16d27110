/* Decoder-only language model (Liu et al., arXiv:1801.10198; GPT): a stack of N identical layers
 * with two sub-layers, masked self-attention and feed-forward. Every position attends to itself and
 * earlier ones and predicts the next token. There is no source, hence no cross-attention: the
 * layers are those of an encoder, under a mask, as PyTorch builds such a model of
 * nn.TransformerEncoderLayer. */
#include "nn/nn.h"

Tensor *nn_language_model(const Forward *f) {
    if (f->cache) kv_cache_advance(f->cache, &f->target->sequences);
    return nn_encoder_stack(f, nn_masked_self_attention, nn_embedding(f, f->target));
}
