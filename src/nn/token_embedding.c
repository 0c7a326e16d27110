/* 3.4 Embeddings: "we multiply those weights by √d_model"; 5.4: dropout on "the sums of the embeddings and
 * the positional encodings". */
#include "nn/nn.h"
#include <math.h>

Tensor *nn_embedding(Tape *t, Model *m, const Tokens *x) {
    double scale = m->config.scale_embedding ? sqrt(m->config.d_model) : 1;
    Tensor *y = tape_embedding(t, &m->embedding, x->sequences.total_rows, x->id, scale, &m->positions, x->at);
    return tape_dropout(t, y, m->dropout);
}
