/* 3 Model architecture, Figure 1: the encoder maps the source to a sequence of representations, the
 * memory. The decoder reads the memory and the target so far, and predicts the next token at every
 * position. */
#include "nn/nn.h"

Tensor *nn_transformer(Forward *f) {
    f->memory = nn_encoder(f);
    return nn_decoder(f);
}

void nn_want_pass(const Forward *f) {
    WANT(f);
    WANT(f->tape);
    WANT(f->model);
}

Tensor *nn_hidden(Forward *f) {
    nn_want_pass(f);
    WANT(f->target);
    if (!config_is_lm(&f->model->config)) WANT(f->source);
    return config_is_lm(&f->model->config) ? nn_language_model(f) : nn_transformer(f);
}
