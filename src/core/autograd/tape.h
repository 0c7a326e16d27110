/* The tape records each operation and runs it. Backward visits the records from the newest to the
 * oldest and applies the chain rule.
 *
 *     Tape *t = tape_new();
 *     Tensor *y = tape_softmax(t, tape_matmul(t, x, w), -1);  records two operations and runs them
 *     tape_backward(t, tape_sum(t, y, ALL_AXES));             adds to x->grad and w->grad
 *     tape_reset(t);                                          forgets all that the tape made
 *
 * A leaf is a tensor over the caller's memory: an input, a weight. All other tensors are outputs of
 * operations, or constants.
 *
 * The tape owns every array that an operation makes, and keeps it until reset. Leaves stay with the
 * caller. From its second step on, a tape whose steps have the same shapes allocates nothing.
 *
 * If memory for an array runs out, the tape has failed: tensors made from then on have shapes and
 * no data, no operation and no backward runs, and tape_failed gives the error. After a reset the
 * tape works again. Only a small record without memory is fatal (base/arena.h). */
#pragma once

#include "autograd/tensor.h"
#include "base/error.h"
#include <stdint.h>

enum { MAX_INPUTS = 8 };

/* One run of an operation (op.h). */
typedef struct Node {
    const struct Op *op;
    struct Tape *tape;
    struct Node *previous; /* recorded before this one */
    long index;            /* position on the tape, from 0 */
    int inputs;
    Tensor *in[MAX_INPUTS]; /* NULL: an optional input is absent */
    Tensor *out;
    void *attr;    /* the operation's own record: its axis, its scale, what it saved for backward */
    real *scratch; /* memory for forward, or backward, while it runs */
} Node;

typedef struct Tape {
    /* Options of the caller. */
    bool training; /* dropout drops */
    bool no_grad;  /* no tensor made from here on needs a gradient: evaluation, decoding */
    bool keep;     /* backward overwrites no gradient, and may run again */
    bool guard;    /* arrays hold NaN until written, and lie between NaNs: see tape_guards_hold */
    bool dry; /* no array has memory, and no operation runs: a step tells its shapes and bytes */
    uint64_t seed; /* of dropout; seed, step and a node's index determine every random number */
    uint64_t step; /* number of the micro-batch since training began */

    struct Arena *arrays;  /* of tensors and nodes */
    struct Arena *records; /* nodes, tensors, attributes */
    size_t in_use, peak;   /* bytes of the arrays: now, and their maximum since tape_new */
    Node *last;            /* the newest node; `previous` leads to the others */
    long nodes;
    uint64_t epoch;        /* differs between tapes and resets; a tensor has that of its tape */
    bool has_run_backward; /* since the last reset */
    Error error;           /* memory has run out */
} Tape;

/* Returns an empty tape, which the caller frees with tape_free. Without memory for it the process
 * ends: error_no_memory. */
Tape *tape_new(void);
void tape_free(Tape *t);

/* Forgets all nodes and tensors of the tape. A later use of such a tensor is a bug. Keeps memory
 * for the next step. */
void tape_reset(Tape *t);

/* Resets the tape and allocates `bytes` for arrays, so that steps within this size allocate nothing
 * and cause no page fault. False: no memory. */
bool tape_reserve(Tape *t, size_t bytes, Error *e);

/* Whether the memory beside x's data and gradient still holds NaN, so that nothing wrote there. The
 * tape must have `guard` and `keep`. */
bool tape_guards_hold(const Tensor *x);

/* True, with the reason in e, if memory has run out since the last reset. */
bool tape_failed(const Tape *t, Error *e);

/* A leaf over the caller's memory, contiguous; grad NULL: a constant. Both arrays must outlive the
 * step. Backward adds to grad. */
Tensor *tape_leaf(Tape *t, Shape s, real *data, real *grad);

/* A constant of zeros in the tape's memory, for the caller to fill at once. */
Tensor *tape_constant(Tape *t, Shape s);

/* Adds ∂loss/∂x to the gradient of every leaf x; loss has one element. Runs once between two
 * resets, because it may overwrite gradients; with `keep` it may run again, and adds again. */
void tape_backward(Tape *t, Tensor *loss);

/* Adds Σ_i dy_i ∂y_i/∂x instead, with dy contiguous in y's shape. */
void tape_backward_from(Tape *t, Tensor *y, const real *dy);

/* Returns the first node whose output has an infinity or a NaN, or NULL. Call it before
 * backward. */
const Node *tape_first_non_finite(const Tape *t);
