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

/* 3.4: "we share the same weight matrix between the two embedding layers and the pre-softmax linear
 * transformation". Deviation: where config.tied is false the output has a matrix of its own. It has no bias
 * either way. */
static Tensor *output_matrix(Model *m) {
    return m->config.tied ? &m->embedding : &m->output;
}

Tensor *nn_logits(const Forward *f, Tensor *hidden) {
    f->tape->recorder = __func__;
    return tape_linear(f->tape, hidden, output_matrix(f->model), NULL, ACT_NONE, NULL);
}

Tensor *nn_loss(const Forward *f, Tensor *hidden, const int32_t *targets) {
    f->tape->recorder = __func__;
    const ModelConfig *c = &f->model->config;
    return tape_linear_cross_entropy(f->tape, hidden, output_matrix(f->model), targets, c->pad_id,
                                     c->label_smoothing);
}
