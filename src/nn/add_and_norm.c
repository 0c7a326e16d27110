/* Add & Norm: the residual connection, dropout and layer norm around every sublayer (3.1, 5.4). */
#include "nn/nn.h"

Tensor *nn_norm(Tape *t, Norm *norm, Tensor *x) {
    return tape_layer_norm(t, x, &norm->weight, &norm->bias);
}

Tensor *nn_norm_before(Tape *t, const Model *m, Norm *norm, Tensor *x) {
    return m->config.norm == NORM_PRE ? nn_norm(t, norm, x) : x;
}

Tensor *nn_norm_after(Tape *t, const Model *m, Norm *norm, Tensor *x) {
    return m->config.norm == NORM_POST ? nn_norm(t, norm, x) : x;
}

/* x + Dropout(y Wᵀ + b). Where nothing is dropped the sum is part of the matrix product. */
Tensor *nn_add(Tape *t, const Model *m, Tensor *x, Linear *projection, Tensor *y) {
    bool drops = t->training && m->dropout > 0;
    if (!drops) return tape_linear(t, y, &projection->weight, &projection->bias, ACT_NONE, x);
    Tensor *f = tape_linear(t, y, &projection->weight, &projection->bias, ACT_NONE, NULL);
    return tape_residual(t, x, f, m->dropout);
}
