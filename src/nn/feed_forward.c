/* 3.3 Position-wise feed-forward network: FFN(x) = act(x W_1 + b_1) W_2 + b_2, the same at every position.
 *
 * With swiglu, W_1 and b_1 have twice as many columns, gates and values (ops/swiglu.c). */
#include "nn/nn.h"

struct FeedForward {
    Linear in, out; /* W_1, b_1: [d_ff, d_model]; W_2, b_2: [d_model, d_ff] */
};

FeedForward *nn_feed_forward_new(Builder *b) {
    const ModelConfig *c = b->config;
    FeedForward *w = build_module(b, sizeof *w);
    build_linear(b, "linear1", c->d_model, c->activation == ACT_SWIGLU ? 2 * c->d_ff : c->d_ff, &w->in);
    build_linear(b, "linear2", c->d_ff, c->d_model, &w->out);
    return w;
}

Tensor *nn_feed_forward(const Forward *f, void *module, Tensor *x) {
    FeedForward *w = module;
    f->tape->recorder = __func__;
    Activation act = f->model->config.activation;
    bool gated = act == ACT_SWIGLU;
    Tensor *inner = tape_linear(f->tape, x, &w->in.weight, &w->in.bias, gated ? ACT_NONE : act, NULL);
    return nn_project(f, &w->out, gated ? tape_swiglu(f->tape, inner) : inner);
}
