/* 3 Model architecture: the encoder maps the source to a sequence of representations, the memory; given it,
 * the decoder reads the target so far and predicts the next token at every position (Figure 1). */
#include "nn/nn.h"

Tensor *nn_transformer(Tape *t, Model *m, const Tokens *source, const Tokens *target) {
    Tensor *memory = nn_encoder(t, m, source, false);
    return nn_decoder(t, m, target, memory, source);
}

Tensor *nn_hidden(Tape *t, Model *m, const Tokens *source, const Tokens *target) {
    return m->config.kind == KIND_LM ? nn_language_model(t, m, target) : nn_transformer(t, m, source, target);
}

/* 3.4: "we share the same weight matrix between the two embedding layers and the pre-softmax linear
 * transformation". Deviation: where config.tied is false the output has a matrix of its own. It has no bias
 * either way. */
static Tensor *output_matrix(Model *m) {
    return m->config.tied ? &m->embedding : &m->output;
}

Tensor *nn_logits(Tape *t, Model *m, Tensor *hidden) {
    return tape_linear(t, hidden, output_matrix(m), NULL, ACT_NONE, NULL);
}

Tensor *nn_loss(Tape *t, Model *m, Tensor *hidden, const int32_t *targets) {
    return tape_linear_cross_entropy(t, hidden, output_matrix(m), targets, m->config.pad_id,
                                     m->config.label_smoothing);
}
