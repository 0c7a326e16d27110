/* 3.3 Position-wise feed-forward network: FFN(x) = act(x W_1ᵀ + b_1) W_2ᵀ + b_2, the same at every
 * position.
 *
 * With a gated activation, W_1 and b_1 have twice as many rows, gates and values (ops/swiglu.c). */
#include "nn/nn.h"

struct FeedForward {
    Linear in, out; /* W_1: [columns · d_ff, d_model], b_1; W_2: [d_model, d_ff], b_2 */
};

FeedForward *nn_feed_forward_new(Builder *b) {
    const ModelConfig *c = b->config;
    FeedForward *w = build_module(b, sizeof *w);
    build_linear(b, "linear1", c->d_model, (long)c->activation->columns * c->d_ff, &w->in);
    build_linear(b, "linear2", c->d_ff, c->d_model, &w->out);
    return w;
}

Tensor *nn_feed_forward(const Forward *f, void *module, Tensor *x) {
    FeedForward *w = module;
    const ActivationKind *act = f->model->config.activation;
    Tensor *inner = nn_linear(f, &w->in, x, act->fused, NULL);
    if (act->fused == ACT_NONE) inner = act->apply(f->tape, inner);
    Tensor *y = nn_project(f, &w->out, inner);
    nn_trace_name(f->trace, f->tape, inner, "H", AXES(AXIS_UNKNOWN, AXIS_FEATURE));
    nn_trace_name(f->trace, f->tape, y, "F", AXES(AXIS_UNKNOWN, AXIS_FEATURE));
    return y;
}
