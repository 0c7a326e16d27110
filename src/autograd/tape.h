/* The tape: records operations as they run, then runs backward through them in reverse order.
 *
 *     Tape *t = tape_new();
 *     Tensor *y = tape_softmax(t, tape_matmul(t, x, w), -1);  operations run at once and are recorded
 *     tape_backward(t, tape_sum(t, y, ALL_AXES));             gradients accumulate in x->grad, w->grad
 *     tape_reset(t);                                          everything the tape made is gone
 *
 * Memory. Every array that an operation makes lives on the tape's arena. Backward walks the nodes in reverse,
 * so when a node's backward has run nobody needs its output, the output's gradient or what it saved, and
 * their memory is used again for gradients still to come: intermediate values and gradients are gone after
 * backward, unless `keep` is set. Scalars and leaves stay. The second step with the same shapes makes no
 * allocation at all.
 *
 * Errors. When memory runs out the tape turns to planning (operations are recorded, nothing is computed) and
 * remembers why: see tape_failed. */
#ifndef AUTOGRAD_TAPE_H
#define AUTOGRAD_TAPE_H

#include "autograd/tensor.h"
#include "base/error.h"
#include <stdint.h>

typedef struct Tape {
    /* Set by the user, between two resets. */
    bool training; /* dropout drops */
    bool no_grad;  /* record nothing for backward: evaluation and decoding */
    bool keep;     /* intermediate values and gradients survive backward: for looking at them */
    /* Arrays lie between NaNs and are NaN until they are written: what reads beside them, or before they are written,
     * shows; see tape_guards_hold. */
    bool guard;
    uint64_t seed; /* of dropout */
    uint64_t
        step; /* of training: with seed and the operation's place on the tape it fixes every random draw */
    const char *recorder; /* the function that records what comes, for each operation; NULL: not said */

    struct TapeMemory *memory; /* arrays: freed by liveness in backward */
    struct Arena *records;     /* nodes, tensors, attributes, scalars: live until reset */
    struct Node *last;         /* the newest node; each knows the one before it */
    long nodes;
    uint64_t epoch; /* another one after each reset, and on each tape: tensors made in another cannot be used */
    bool spent;    /* backward has run */
    bool planning; /* shapes and memory only, no data: tape_plan, or memory ran out */
    Error error;

    /* Called, where set, after each forward and each backward of an operation: for profiles. */
    void (*observer)(void *context, const struct Node *n, bool backward, double seconds);
    void *observer_context;
} Tape;

/* A new, empty tape. Ends with a bug only if not even its own record can be allocated. */
Tape *tape_new(void);
void tape_free(Tape *t);

/* Forgets all nodes. Every tensor made on the tape is dead from here on. Memory is kept for the next step. */
void tape_reset(Tape *t);

/* Takes `bytes` of memory for arrays now, so that steps within it allocate nothing and fault in no page. False: it is
 * not to be had. */
bool tape_reserve(Tape *t, size_t bytes, Error *e);

/* Turns the tape to planning until it is reset: operations and backward run over shapes alone, and tape_peak
 * says what the same calls would need. */
void tape_plan(Tape *t);

/* With `guard`: whether the memory beside x's data and gradient, made on the tape and kept, is still NaN. */
bool tape_guards_hold(const Tensor *x);

/* Most bytes of arrays in use at once since the tape was made or tape_forget_peak was called. */
size_t tape_peak(const Tape *t);
void tape_forget_peak(Tape *t);

/* Bytes of arrays in use now: after forward, what is kept for backward. */
size_t tape_in_use(const Tape *t);

/* True if memory ran out since the last reset; then e says so. */
bool tape_failed(const Tape *t, Error *e);

/* A leaf over the caller's memory, contiguous; data and grad (NULL: no gradient wanted) stay the caller's and
 * must outlive the tape's step. Gradients are added to what grad holds. */
Tensor *tape_leaf(Tape *t, Shape s, real *data, real *grad);

/* A constant of the tape's own, zero-filled, to be written by the caller at once; no gradient. */
Tensor *tape_constant(Tape *t, Shape s);

/* Runs backward from a scalar, seeding its gradient with 1. Once between two resets, as the values on the way
 * are gone afterwards; with `keep` it may run again, and adds to the leaves once more. */
void tape_backward(Tape *t, Tensor *loss);

/* Runs backward from y with the upstream gradient dy, contiguous in y's shape. */
void tape_backward_from(Tape *t, Tensor *y, const real *dy);

/* The first recorded operation whose output holds a number that is not finite, or NULL: for finding where a
 * NaN came from, after forward and before backward. */
const struct Node *tape_first_non_finite(const Tape *t);

#endif
