/* A tensor: a strided view of real numbers, and the gradient that the tape accumulates for it.
 *
 * Nobody frees a tensor. Its memory is the tape's, which dies when the tape is reset, or the parameter
 * store's, which the model owns. */
#ifndef AUTOGRAD_TENSOR_H
#define AUTOGRAD_TENSOR_H

#include "base/real.h"
#include "base/shape.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a tensor's gradient is, in the order in which a gradient comes to be. Backward takes a tensor on the tape from
 * awaited to fresh, when the first operation that reads it asks for memory, and at once to sum, when that operation has
 * written it. A leaf starts with its caller's sum. */
typedef enum GradState {
    GRAD_UNWANTED, /* nothing asks for it */
    GRAD_AWAITED,  /* wanted, and backward has not reached it: no memory */
    GRAD_FRESH,    /* memory that holds nothing: who writes first stores, and needs no zeros */
    GRAD_SUM,      /* the sum of what has been added: who writes adds */
} GradState;

typedef struct Tensor {
    Shape shape;
    long stride[MAX_RANK]; /* of data, in elements; 0 along an axis that is broadcast */
    real *data;            /* NULL on a tape that only plans */
    real *grad; /* contiguous in shape, whatever the strides of data; NULL until backward reaches it */
    GradState grad_state;
    struct Node *maker; /* the recorded operation that made it; NULL for a leaf */
    uint64_t epoch;     /* of the tape that made it; 0: it is the caller's, and may be used on any tape */
} Tensor;

/* A contiguous tensor over data, which stays its owner's; no gradient. */
Tensor tensor_over(real *data, Shape s);

static inline bool tensor_wants_grad(const Tensor *x) {
    return x->grad_state != GRAD_UNWANTED;
}

/* Whether a backward that may store has to add to x's gradient. */
static inline bool tensor_grad_adds(const Tensor *x) {
    return x->grad_state == GRAD_SUM;
}

/* Whether x lies row-major without gaps. */
bool tensor_contiguous(const Tensor *x);

/* The stride of x along each axis of `to`, which x broadcasts to: 0 where x is repeated. */
void tensor_broadcast_strides(Shape x, const long *stride, Shape to, long *out);

/* Row-major strides of s. */
static inline void tensor_contiguous_strides(Shape s, long *stride) {
    long step = 1;
    for (int i = s.rank - 1; i >= 0; i--) {
        stride[i] = step;
        step *= s.size[i] ? s.size[i] : 1;
    }
}

/* Copies x, whatever its strides, into out, contiguous in x's shape. */
void tensor_copy_out(const Tensor *x, real *out);

/* Walks several operands over one shape together, one innermost row at a time:
 *
 *     Walk w = tensor_walk(y->shape, 3, (const long *[]){a_strides, b_strides, y_strides});
 *     while (tensor_walk_row(&w))
 *         for (long i = 0; i < w.n; i++)
 *             y[w.at[2] + i * w.step[2]] = a[w.at[0] + i * w.step[0]] + b[w.at[1] + i * w.step[1]];
 *
 * A scalar is one row of one element; a shape with a size of 0 has no rows. */
enum { WALK_OPERANDS = 4 };
typedef struct Walk {
    long n;                   /* elements of a row */
    long at[WALK_OPERANDS];   /* where the row starts, in elements from each operand's data */
    long step[WALK_OPERANDS]; /* from one element of the row to the next */
    int operands;
    Shape shape;
    long stride[WALK_OPERANDS][MAX_RANK];
    long index[MAX_RANK];
    bool started, done;
} Walk;
Walk tensor_walk(Shape shape, int operands, const long *const stride[]);
Walk tensor_walk_over(const Tensor *x); /* x alone, over its own shape: at[0] and step[0] */
bool tensor_walk_row(Walk *w);

#endif
