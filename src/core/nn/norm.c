/* The kinds of norm. A Norm is the module of the configured kind. */
#include "nn/nn.h"

Norm *nn_norm_new(Builder *b, const char *name) {
    size_t outside = build_enter(b, "%s", name);
    Norm *n = b->config->norm_kind->add(b);
    build_leave(b, outside);
    return n;
}

Tensor *nn_norm(const Forward *f, Norm *norm, Tensor *x) {
    Tensor *y = f->model->config.norm_kind->forward(f, norm, x);
    nn_trace_name(f->trace, f->tape, y, "N", AXES(AXIS_UNKNOWN, AXIS_FEATURE));
    return y;
}

typedef struct Scale {
    Tensor weight, bias; /* [d_model]; RMS norm has no bias */
} Scale;

static void *add_weight(Builder *b) {
    Scale *n = build_module(b, sizeof *n);
    build_tensor(b, "weight", SHAPE(b->config->d_model), init_ones, &n->weight);
    return n;
}

static void *add_weight_and_bias(Builder *b) {
    Scale *n = add_weight(b);
    build_tensor(b, "bias", SHAPE(b->config->d_model), init_zeros, &n->bias);
    return n;
}

static Tensor *layer(const Forward *f, void *module, Tensor *x) {
    Scale *n = module;
    return tape_layer_norm(f->tape, x, &n->weight, &n->bias);
}

static Tensor *rms(const Forward *f, void *module, Tensor *x) {
    Scale *n = module;
    return tape_rms_norm(f->tape, x, &n->weight);
}

const NormKind norm_layer = {
    {"layer"},
    .add = add_weight_and_bias,
    .forward = layer,
};

const NormKind norm_rms = {
    {"rms"},
    .add = add_weight,
    .forward = rms,
};
