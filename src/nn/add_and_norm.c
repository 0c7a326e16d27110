/* 3.1, 5.4 Add & Norm: the residual connection, dropout and layer norm around every sublayer. */
#include "nn/nn.h"

/* x + Dropout(Sublayer(in)). Without dropout and trace, the sublayer's last product adds x:
 * see nn_project. */
static Tensor *add(const Forward *f, Tensor *x, Sublayer *sublayer, void *module, Tensor *in) {
    double dropout = f->model->dropout;
    Forward fused = *f;
    fused.residual = x;
    if (!f->trace && !(f->tape->training && dropout > 0)) return sublayer(&fused, module, in);
    Tensor *y = sublayer(f, module, in);
    f->tape->recorder = "nn_add_and_norm";
    return tape_residual(f->tape, x, y, dropout);
}

Tensor *nn_add_and_norm(const Forward *f, Sublayer *sublayer, void *module, Norm *norm, Tensor *x) {
    if (f->model->config.norm == NORM_PRE) return add(f, x, sublayer, module, nn_norm(f, norm, x));
    return nn_norm(f, norm, add(f, x, sublayer, module, x));
}

Tensor *nn_project(const Forward *f, Linear *l, Tensor *x) {
    return tape_linear(f->tape, x, &l->weight, &l->bias, ACT_NONE, f->residual);
}
