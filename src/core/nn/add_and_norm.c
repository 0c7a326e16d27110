/* 3.1, 5.4 Add & Norm: the residual connection, dropout and norm around every sublayer. */
#include "nn/nn.h"

/* x + Dropout(Sublayer(in)). Without dropout and trace, a sublayer that ends in nn_project adds x
 * in its last product, which is faster. */
static Tensor *add_residual(const Forward *f, Tensor *x, Sublayer *sublayer, void *module,
                            Tensor *in) {
    double dropout = f->model->dropout;
    bool drops = f->tape->training && dropout > 0;
    Residual residual = {.x = x};
    Forward inner = *f;
    inner.residual = drops || f->trace ? NULL : &residual;
    Tensor *y = sublayer(&inner, module, in);
    if (residual.sum == y) return y;
    if (residual.sum) error_bug("nn_project: the sublayer returns another tensor than its result");
    Tensor *sum = tape_residual(f->tape, x, y, dropout);
    nn_trace_name(f->trace, f->tape, sum, "R", AXES(AXIS_UNKNOWN, AXIS_FEATURE));
    return sum;
}

Tensor *nn_add_and_norm(const Forward *f, Sublayer *sublayer, void *module, Norm *norm, Tensor *x) {
    if (f->model->config.norm == NORM_PRE)
        return add_residual(f, x, sublayer, module, nn_norm(f, norm, x));
    return nn_norm(f, norm, add_residual(f, x, sublayer, module, x));
}

Tensor *nn_linear(const Forward *f, Linear *l, Tensor *x, Activation act, Tensor *residual) {
    Tensor *bias = f->model->config.biases ? &l->bias : NULL;
    return tape_linear(f->tape, x, &l->weight, bias, act, residual);
}

Tensor *nn_project(const Forward *f, Linear *l, Tensor *x) {
    Residual *r = f->residual && !f->residual->sum ? f->residual : NULL;
    Tensor *y = nn_linear(f, l, x, ACT_NONE, r ? r->x : NULL);
    if (r) r->sum = y;
    return y;
}
