/* 3.3 Position-wise feed-forward network: FFN(x) = act(x W_1 + b_1) W_2 + b_2, the same at every position. */
#include "nn/nn.h"

Tensor *nn_feed_forward(const Forward *f, void *module, Tensor *x) {
    FeedForward *w = module;
    f->tape->recorder = __func__;
    Tensor *inner = tape_linear(f->tape, x, &w->in.weight, &w->in.bias, f->model->config.activation, NULL);
    return nn_project(f, &w->out, inner);
}
