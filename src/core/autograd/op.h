/* An operation, and how its file records it. src/core/ops/softmax.c is an example. */
#pragma once

#include "autograd/tape.h"
#include <stdio.h>

typedef struct CheckCase CheckCase;

typedef struct Op {
    const char *name;

    /* Computes n->out->data from n->in[i]->data and n->attr. Inputs may have any strides; the
     * output is contiguous. */
    void (*forward)(Node *n);

    /* Reads n->out->grad, and adds the gradient of input i to n->in[i]->grad, which is NULL if this
     * input takes no gradient. At least one input takes one, so an operation of a single input does
     * not test for NULL. Backward changes nothing else, except that it may overwrite n->out->grad
     * unless tape->keep is set. */
    void (*backward)(Node *n);

    /* Returns how many reals of scratch memory forward, or backward, needs. The tape calls it right
     * before that runs, so the result may depend on pool_threads(). n->scratch then is the memory,
     * uninitialised. NULL: none. */
    long (*scratch)(const Node *n, bool backward);

    /* The output is another view of the first input's data; there is no forward. */
    bool view;

    /* False: backward adds to the gradients of its inputs; the tape zeroes a fresh gradient first.
     * True: backward stores into a fresh gradient (tensor_grad_adds is false) and adds to any
     * other, which spares the zeroing; `+=` in a derivation then means either. If a tensor is
     * passed twice, its gradient is never fresh. */
    bool stores_fresh;

    /* A hash of the branches taken at the current inputs (the sign in relu, the winner in max): two
     * points with equal hashes lie on one smooth piece. NULL: the operation is smooth. */
    uint64_t (*branches)(const Node *n);

    /* The number of additions and multiplications in forward's matrix products, without masked
     * elements. Backward counts as twice as many, without what it recomputes. NULL: no products. */
    double (*flops)(const Node *n);

    /* Prints the arguments that are not tensors as members of a JSON object, `"axis": 1, "start":
     * 0`, so that another program can repeat the operation. Axes count from 0; elements are in
     * row-major order. NULL: no such arguments. */
    void (*arguments)(const Node *n, FILE *out);

    /* The inputs at which the gradient is checked: check_case.h. */
    const CheckCase *cases;
    int n_cases;
} Op;

/* For Op.branches: adds to the hash, which begins at 0, the side that an element took or the index
 * of a winner. */
static inline uint64_t branch_hash(uint64_t hash, long branch) {
    return hash * 0x9E3779B97F4A7C15u + (uint64_t)branch;
}

/* INPUTS(a, b) is the last two arguments of tape_node. */
#define INPUTS(...)                                                                                \
    (int)(sizeof((Tensor *[]){__VA_ARGS__}) / sizeof(Tensor *)), (Tensor *[]) {                    \
        __VA_ARGS__                                                                                \
    }

/* Stops with a bug if the tape or one of these tensors is NULL. Every function that records an
 * operation calls it first: op_want("matmul", t, INPUTS(a, b)). */
void op_want(const char *op, const Tape *t, int inputs, Tensor *const in[]);

/* Puts a node on the tape, with a contiguous output of shape `out`, ready for attributes:
 * tape_node(t, &op_x, shape, INPUTS(a, b)). The output needs a gradient if an input does.
 * tape_forward must follow. */
Node *tape_node(Tape *t, const Op *op, Shape out, int inputs, Tensor *const in[]);

/* The same for a node whose output is a view of in's data, with this shape, these strides and this
 * offset, in elements. */
Node *tape_view(Tape *t, const Op *op, Tensor *in, Shape out, const long *stride, long offset);

/* `bytes` of zeroed memory for small records; lives until reset. */
void *node_memory(Node *n, size_t bytes);

/* The same, set as n->attr. */
void *node_attr(Node *n, size_t bytes);

/* An array of `count` reals to save for backward, uninitialised; lives until reset. NULL if the
 * tape is dry or has no memory: the node will not run. */
real *node_array(Node *n, long count);

/* Ends the recording of a node that tape_node or tape_view put on the tape: runs its forward.
 * Returns its output. */
Tensor *tape_forward(Node *n);
