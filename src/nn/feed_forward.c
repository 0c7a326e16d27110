/* 3.3 Position-wise feed-forward network: FFN(x) = act(x W_1 + b_1) W_2 + b_2, the same at every position.
 * The second projection is applied by nn_add, together with the residual. */
#include "nn/nn.h"

Tensor *nn_feed_forward(Tape *t, FeedForward *f, Activation activation, Tensor *x) {
    return tape_linear(t, x, &f->in.weight, &f->in.bias, activation, NULL);
}
