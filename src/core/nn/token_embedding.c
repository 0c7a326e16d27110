/* 3.4 Embeddings: "we multiply those weights by √d_model"; 5.4: dropout on "the sums of the
 * embeddings and the positional encodings". */
#include "nn/nn.h"
#include <math.h>

void nn_embedding_add(Builder *b, Model *m) {
    const ModelConfig *c = b->config;
    build_tensor(b, "embedding.weight", SHAPE(c->vocab_size, c->d_model), small_normal(c),
                 &m->embedding);
    if (c->positions->learn) c->positions->learn(b, m);
}

Tensor *nn_embedding(const Forward *f, const Tokens *x) {
    Model *m = f->model;
    bool added = m->config.positions->added && !m->unplaced;
    if (added) nn_make_positions(m, tokens_last_position(x) + 1);
    double scale = m->config.scale_embedding ? sqrt(m->config.d_model) : 1;
    Tensor *y = tape_embedding(f->tape, &m->embedding, x->sequences.total_rows, x->id, scale,
                               added ? &m->positions : NULL, x->at);
    Axis tokens = x == f->source ? AXIS_SOURCE : AXIS_TARGET;
    nn_trace_name(f->trace, f->tape, &m->embedding, "W", AXES(AXIS_VOCABULARY, AXIS_FEATURE));
    nn_trace_name(f->trace, f->tape, y, "X", AXES(tokens, AXIS_FEATURE));
    return tape_dropout(f->tape, y, m->dropout);
}
