/* 3.3 Position-wise feed-forward network: FFN(x) = act(x W_1 + b_1) W_2 + b_2, the same at every position.
 *
 * With swiglu, W_1 and b_1 have twice as many columns, gates and values (ops/swiglu.c). */
#include "nn/nn.h"

Tensor *nn_feed_forward(const Forward *f, void *module, Tensor *x) {
    FeedForward *w = module;
    f->tape->recorder = __func__;
    Activation act = f->model->config.activation;
    bool gated = act == ACT_SWIGLU;
    Tensor *inner = tape_linear(f->tape, x, &w->in.weight, &w->in.bias, gated ? ACT_NONE : act, NULL);
    return nn_project(f, &w->out, gated ? tape_swiglu(f->tape, inner) : inner);
}
