/* A decoder-only language model: a stack of self-attention and feed-forward layers in which every position
 * sees itself and what came before, and predicts the next token. Without a source there is nothing to
 * cross-attend to, so the layer is the encoder's, under a causal mask (Liu et al., arXiv:1801.10198; GPT). */
#include "nn/nn.h"

Tensor *nn_language_model(const Forward *f) {
    if (f->cache) kv_cache_advance(f->cache, &f->target->sequences);
    return nn_encoder(f);
}
