/* 3 Model architecture: the encoder maps the source to a sequence of representations, the memory; given it,
 * the decoder reads the target so far and predicts the next token at every position (Figure 1). */
#include "nn/nn.h"

Tensor *nn_transformer(Forward *f) {
    f->memory = nn_encoder(f);
    return nn_decoder(f);
}

Tensor *nn_hidden(Forward *f) {
    return f->model->config.kind == KIND_LM ? nn_language_model(f) : nn_transformer(f);
}
