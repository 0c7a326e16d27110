/* The kinds of norm. */
#include "nn/nn.h"

struct Norm {
    Tensor weight, bias; /* [d_model]; RMS norm has no bias */
};

Norm *nn_norm_new(Builder *b, const char *name) {
    Norm *n = build_module(b, sizeof *n);
    size_t outside = build_enter(b, "%s", name);
    build_tensor(b, "weight", SHAPE(b->config->d_model), init_ones, &n->weight);
    if (b->config->norm_kind->bias) build_tensor(b, "bias", SHAPE(b->config->d_model), init_zeros, &n->bias);
    build_leave(b, outside);
    return n;
}

Tensor *nn_norm(const Forward *f, Norm *norm, Tensor *x) {
    return f->model->config.norm_kind->apply(f->tape, x, &norm->weight, &norm->bias);
}

static Tensor *rms(Tape *t, Tensor *x, Tensor *weight, Tensor *bias) {
    (void)bias;
    return tape_rms_norm(t, x, weight);
}

const NormKind norm_layer = {
    {"layer"},
    .bias = true,
    .apply = tape_layer_norm,
    .title = "LayerNorm",
    .again = "LayerNorm of it",
    .formula = "N = gamma (R - mean) / sqrt(variance + 1e-5) + beta",
    .purpose = "Each row gets mean 0 and variance 1, then a learnt scale and shift.",
};

const NormKind norm_rms = {
    {"rms"},
    .apply = rms,
    .title = "RMSNorm",
    .again = "RMSNorm of it",
    .formula = "N = gamma R / sqrt(mean of R^2 + 1e-5)",
    .purpose = "Each row gets a mean square of 1, then a learnt scale.",
};
