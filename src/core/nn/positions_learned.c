/* Learned positions: the rows of a matrix of weights, which are added to the embeddings. */
#include "nn/nn.h"

static void learn(Builder *b, Model *m) {
    const ModelConfig *c = b->config;
    build_tensor(b, "positions.weight", SHAPE(c->max_length, c->d_model), small_normal(c),
                 &m->positions);
}

const Positions positions_learned = {
    {"learned"},
    .learn = learn,
    .added = true,
};
