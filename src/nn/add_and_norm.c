/* Add & Norm: the residual connection, dropout and layer norm around every sublayer (3.1, 5.4). */
#include "nn/nn.h"

Tensor *nn_norm(const Forward *f, Norm *norm, Tensor *x) {
    f->tape->recorder = __func__;
    Tensor *y = tape_layer_norm(f->tape, x, &norm->weight, &norm->bias);
    nn_trace_keep(f->trace, &f->model->parameters, &norm->weight, x, y);
    return y;
}

Tensor *nn_add_and_norm(const Forward *f, Sublayer *sublayer, void *module, Norm *norm, Tensor *x) {
    if (f->model->config.norm == NORM_PRE) return sublayer(f, module, nn_norm(f, norm, x), x);
    return nn_norm(f, norm, sublayer(f, module, x, x));
}

/* Where nothing is dropped, and nobody looks, the sum is part of the matrix product. */
Tensor *nn_add(const Forward *f, Tensor *residual, Linear *l, Tensor *x) {
    f->tape->recorder = __func__;
    bool drops = f->tape->training && f->model->dropout > 0;
    if (!drops && !f->trace) return tape_linear(f->tape, x, &l->weight, &l->bias, ACT_NONE, residual);
    Tensor *y = tape_linear(f->tape, x, &l->weight, &l->bias, ACT_NONE, NULL);
    nn_trace_keep(f->trace, &f->model->parameters, &l->weight, x, y);
    return tape_residual(f->tape, residual, y, f->model->dropout);
}
