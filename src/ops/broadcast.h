/* The loops of element-wise operations of two tensors that broadcast. */
#ifndef OPS_BROADCAST_H
#define OPS_BROADCAST_H

#include "autograd/op.h"

enum { WALK_A, WALK_B, WALK_DA, WALK_DB };

/* A node for y = f(a, b), with the broadcast shape. */
static inline Node *broadcast_node(Tape *t, const Op *op, Tensor *a, Tensor *b) {
    return tape_node(t, op, shape_broadcast(op->name, a->shape, b->shape), INPUTS(a, b));
}

/* Walks the elements of y in order, and with them a and b (WALK_A, WALK_B) and their gradients (WALK_DA,
 * WALK_DB). An element that y repeats is visited each time, so that `da[…] +=` sums over the broadcast
 * axes. */
static inline Walk broadcast_walk(const Node *n) {
    long stride[4][MAX_RANK], contiguous[MAX_RANK];
    for (int i = 0; i < 2; i++) {
        const Tensor *x = n->in[i];
        tensor_broadcast_strides(x->shape, x->stride, n->out->shape, stride[WALK_A + i]);
        tensor_contiguous_strides(x->shape, contiguous);
        tensor_broadcast_strides(x->shape, contiguous, n->out->shape, stride[WALK_DA + i]);
    }
    return tensor_walk(n->out->shape, 4, (const long *[]){stride[0], stride[1], stride[2], stride[3]});
}

#endif
