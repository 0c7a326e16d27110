/* 3.4 Embeddings: "we multiply those weights by √d_model"; 5.4: dropout on "the sums of the embeddings and
 * the positional encodings". */
#include "nn/nn.h"
#include <math.h>

Tensor *nn_embedding(const Forward *f, const Tokens *x) {
    f->tape->recorder = __func__;
    Model *m = f->model;
    long rows = x->sequences.total_rows, last = -1;
    for (long i = 0; x->at && i < rows; i++) last = x->at[i] > last ? x->at[i] : last;
    nn_make_sinusoids(m, last + 1);
    double scale = m->config.scale_embedding ? sqrt(m->config.d_model) : 1;
    Tensor *y = tape_embedding(f->tape, &m->embedding, rows, x->id, scale, &m->positions, x->at);
    return tape_dropout(f->tape, y, m->dropout);
}
