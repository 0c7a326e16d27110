/* A tensor: a strided view of real numbers, and the gradient that the tape accumulates for it.
 *
 * Nobody frees a tensor. A tape owns the tensors that it makes, until it is reset; a model owns its
 * parameters. */
#pragma once

#include "base/real.h"
#include "base/shape.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The states of a tensor's gradient, in order. An output's gradient goes through the last three
 * states while backward visits the operations that read the tensor. A leaf begins with SUM, or with
 * FRESH if its old gradient is to be discarded. */
typedef enum GradState {
    GRAD_UNWANTED,    /* not needed: constants, and what depends on them alone */
    GRAD_UNALLOCATED, /* needed, but no operation that reads the tensor was visited yet */
    GRAD_FRESH,       /* allocated and uninitialised: the operation that is visited first stores */
    GRAD_SUM,         /* holds the sum so far: the others add */
} GradState;

typedef struct Tensor {
    Shape shape;
    long stride[MAX_RANK]; /* of data, in elements; 0 along an axis that is broadcast */
    real *data;            /* NULL if the tape has failed (tape.h) */
    const real *packed;    /* data of a matrix once more, as gemm_pack lays it out; NULL: none */
    /* Contiguous in shape, whatever the strides of data. NULL: UNWANTED, UNALLOCATED. */
    real *grad;
    GradState grad_state;
    struct Node *maker; /* the node that has this output; NULL for a leaf */
    uint64_t epoch;     /* of the tape that made it; 0: made by the caller, for any tape */
} Tensor;

/* A contiguous tensor over the caller's data, without gradient. */
Tensor tensor_over(real *data, Shape s);

static inline bool tensor_wants_grad(const Tensor *x) {
    return x->grad_state != GRAD_UNWANTED;
}

/* Whether backward must add to x's gradient. If not, an operation with stores_fresh (op.h)
 * stores. */
static inline bool tensor_grad_adds(const Tensor *x) {
    return x->grad_state == GRAD_SUM;
}

/* Whether x is row-major without gaps. */
bool tensor_contiguous(const Tensor *x);

/* Computes the strides with which a tensor of shape x and strides `stride` is read when it is
 * broadcast to shape `to`: 0 along repeated axes. */
void tensor_broadcast_strides(Shape x, const long *stride, Shape to, long *out);

/* Row-major strides of s. */
static inline void tensor_contiguous_strides(Shape s, long *stride) {
    long step = 1;
    for (int i = s.rank - 1; i >= 0; i--) {
        stride[i] = step;
        step *= s.size[i] ? s.size[i] : 1;
    }
}

/* Copies x into out, in row-major order. */
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
    long n;                   /* elements of the current row */
    long at[WALK_OPERANDS];   /* each operand's offset of the row's first element */
    long step[WALK_OPERANDS]; /* and its stride within the row */
    int operands;
    Shape shape;
    long stride[WALK_OPERANDS][MAX_RANK];
    long index[MAX_RANK];
    bool started, done;
} Walk;
Walk tensor_walk(Shape shape, int operands, const long *const stride[]);
Walk tensor_walk_over(const Tensor *x); /* x alone, over its own shape: at[0] and step[0] */
bool tensor_walk_row(Walk *w);          /* moves to the next row; false after the last */
