/* The cost of a training step: the tape's own count, without memory for a single array. */
#include "autograd/op.h"
#include "nn/nn.h"
#include <stdlib.h>

static Tokens full_rows(const int32_t *ids, long rows, long length) {
    Tokens x = {0};
    Error e = {0};
    if (!tokens_new(&x, rows, rows * length, &e)) error_no_memory("%ld tokens", rows * length);
    tokens_fill(&x, rows, length, ids, NO_PAD);
    return x;
}

StepCost nn_step_cost(Model *m, long rows, long S, long T) {
    long tokens = rows * (S > T ? S : T);
    int32_t *ids = calloc((size_t)tokens + 1, sizeof *ids);
    if (!ids) error_no_memory("%ld tokens", tokens);
    Tokens source = full_rows(ids, rows, S), target = full_rows(ids, rows, T);
    Tape *t = tape_new();
    Forward f = {t, m, &source, &target};
    t->dry = t->no_grad = true;
    nn_predict(&f, nn_hidden(&f), ids);
    tape_reset(t);
    t->no_grad = false;
    t->training = true;
    Tensor *loss = nn_loss(&f, nn_hidden(&f), ids);
    StepCost cost = {.kept = (double)t->in_use};
    for (const Node *n = t->last; n; n = n->previous)
        if (n->op->flops) cost.flops += 3 * n->op->flops(n); /* backward has twice the products */
    tape_backward(t, loss);
    cost.bytes = (double)t->peak;
    tape_free(t);
    tokens_free(&source);
    tokens_free(&target);
    free(ids);
    return cost;
}
