/* 3.3 Position-wise feed-forward network: FFN(x) = act(x W_1ᵀ + b_1) W_2ᵀ + b_2, the same at every position.
 *
 * With a gated activation, W_1 and b_1 have twice as many rows, gates and values (ops/swiglu.c). */
#include "nn/nn.h"
#include <stdio.h>

typedef struct Dense {
    Linear in, out; /* W_1: [columns · d_ff, d_model], b_1; W_2: [d_model, d_ff], b_2 */
} Dense;

static void *add_parameters(Builder *b) {
    const ModelConfig *c = b->config;
    Dense *w = build_module(b, sizeof *w);
    build_linear(b, "linear1", c->d_model, (long)c->activation->columns * c->d_ff, &w->in);
    build_linear(b, "linear2", c->d_ff, c->d_model, &w->out);
    return w;
}

static Tensor *forward(const Forward *f, void *module, Tensor *x) {
    Dense *w = module;
    const ActivationKind *act = f->model->config.activation;
    Tensor *inner = tape_linear(f->tape, x, &w->in.weight, &w->in.bias, act->fused, NULL);
    if (act->fused == ACT_NONE) inner = act->apply(f->tape, inner);
    return nn_project(f, &w->out, inner);
}

const FeedForwardKind feed_forward_dense = {{"dense"}, add_parameters, forward};

typedef struct FeedForward {
    char name[PARAMETER_NAME]; /* "encoder.layers.0.feed_forward" */
    void *module;              /* of the configured kind */
} FeedForward;

void *nn_feed_forward_new(Builder *b) {
    FeedForward *w = build_module(b, sizeof *w);
    snprintf(w->name, sizeof w->name, "%.40sfeed_forward", b->prefix);
    w->module = b->config->feed_forward->add(b);
    return w;
}

Tensor *nn_feed_forward(const Forward *f, void *module, Tensor *x) {
    FeedForward *w = module;
    Tensor *y = f->model->config.feed_forward->forward(f, w->module, x);
    if (f->trace) nn_trace_module(f->trace, w->name, x, y);
    return y;
}
