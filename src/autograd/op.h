/* What an operation is, for those who write one. The anatomy of an operation file is described in README.md.
 */
#ifndef AUTOGRAD_OP_H
#define AUTOGRAD_OP_H

#include "autograd/tape.h"
#include <stdio.h>

typedef struct Op Op;
typedef struct CheckCase CheckCase;

enum { MAX_INPUTS = 8 };

/* A block of the tape's memory for arrays. */
typedef struct TapeBlock {
    size_t at, bytes;
    struct TapeBlock *next;
} TapeBlock;

/* One run of an operation, on the tape. */
typedef struct Node {
    const Op *op;
    Tape *tape;
    struct Node *previous; /* recorded before it */
    long index;            /* place on the tape, from 0 */
    const char *recorder;  /* the function that recorded it, as the tape said */
    int inputs;
    Tensor *in[MAX_INPUTS]; /* NULL where an optional input is absent */
    Tensor *out;
    void *attr; /* the operation's own record: its axis, its scale, what it saved for backward */

    real *scratch; /* while forward or backward runs: see Op.scratch */

    TapeBlock *arrays; /* output and saved arrays: free once backward has passed */
    TapeBlock grad;    /* the output's gradient, where the tape's memory holds it */
} Node;

struct Op {
    const char *name;

    /* Computes n->out->data from n->in[i]->data and n->attr. Inputs may have any strides; the output is
     * contiguous. */
    void (*forward)(Node *n);

    /* Adds to each n->in[i]->grad that is not NULL its part of the gradient, given n->out->grad. May use
     * inputs, output and attributes; changes none of them,
     * but where tape->keep is not set n->out->grad, which nobody reads afterwards unless it `passes`. */
    void (*backward)(Node *n);

    /* How many reals of scratch memory forward, or backward, needs. Asked right before it runs, so that the answer may
     * depend on pool_threads(); the memory is n->scratch, uninitialised. NULL: none. */
    long (*scratch)(const Node *n, bool backward);

    /* The output shares the first input's memory: forward is NULL, and recording set data and strides. */
    bool view;

    /* Backward asks tensor_grad_adds(in[i]) and stores where it says no. Otherwise a fresh
     * gradient is zero-filled before backward runs. Never set for a tensor that is passed twice. */
    bool stores_fresh;

    /* 1 + the index of an input whose whole gradient is dy, unchanged. If that input has no gradient yet, the
     * tape hands it dy's memory after backward, which sees NULL for it meanwhile; otherwise backward adds as
     * usual. */
    int passes;

    /* A hash of which side every branch takes at the inputs as they are now (the sign in relu, the winner in
     * max): two points with equal hashes lie on one smooth piece. NULL: the operation is smooth. */
    uint64_t (*branches)(const Node *n);

    /* Additions and multiplications of the matrix products that forward needs; backward needs twice as many.
     * What a mask hides does not count, nor what is computed again to save memory.
     * NULL: the operation has no products. */
    double (*flops)(const Node *n);

    /* Prints the arguments that are not tensors as the members of a JSON object, `"axis": 1, "start": 0`: for
     * who repeats the operation in another language. An axis counts from 0, what belongs to the elements of a
     * tensor comes in row-major order. NULL: there are none. */
    void (*arguments)(const Node *n, FILE *out);

    /* Where the gradient is checked; see check_case.h. */
    const CheckCase *cases;
    int n_cases;
};

#define INPUTS(...)                                                                                          \
    (int)(sizeof((Tensor *[]){__VA_ARGS__}) / sizeof(Tensor *)), (Tensor *[]) {                              \
        __VA_ARGS__                                                                                          \
    }

/* A node with its contiguous output of shape `out`, ready for attributes: tape_node(t, &op_x, shape,
 * INPUTS(a, b)). The output needs a gradient if an input does. */
Node *tape_node(Tape *t, const Op *op, Shape out, int inputs, Tensor *const in[]);

/* As tape_node, for a view: the output shares in's data, with the given shape, strides and offset in
 * elements. */
Node *tape_view(Tape *t, const Op *op, Tensor *in, Shape out, const long *stride, long offset);

/* `bytes` of zeroed memory that lives until reset: for small records. */
void *node_record(Node *n, size_t bytes);

/* The node's attributes: such a record, set as n->attr. */
void *node_attr(Node *n, size_t bytes);

/* An array of `count` reals, not zeroed, to save for backward; lives until the node's backward has run. NULL
 * while planning. */
real *node_array(Node *n, long count);

/* Runs forward and returns the output. */
Tensor *tape_record(Node *n);

#endif
