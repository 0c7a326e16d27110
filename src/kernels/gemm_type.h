/* The description of a matrix product. */
#ifndef KERNELS_GEMM_TYPE_H
#define KERNELS_GEMM_TYPE_H

#include "base/real.h"
#include <stdbool.h>

/* The activations that a matrix product can apply to its result. */
typedef enum Activation {
    ACT_NONE,
    ACT_RELU,   /* max(x, 0) */
    ACT_GELU,   /* x (1 + erf(x / √2)) / 2 */
    ACT_SILU,   /* x / (1 + e^-x) */
    ACT_SWIGLU, /* of a feed-forward network alone: ops/swiglu.c */
} Activation;

typedef enum GemmLayout {
    GEMM_NN, /* A is stored m×k, B k×n: C = A·B */
    GEMM_NT, /* A is stored m×k, B n×k: C = A·Bᵀ */
    GEMM_TN, /* A is stored k×m, B k×n: C = Aᵀ·B */
} GemmLayout;

typedef struct Gemm {
    GemmLayout layout;
    long m, n, k;
    const real *a, *b;
    real *c;
    long lda, ldb, ldc; /* elements from one stored row to the next */
    const real *packed; /* of a single product with GEMM_NT: B again, from gemm_pack; NULL: none */
    bool accumulate;    /* C += A·B instead of C = A·B */

    /* The epilogue. */
    const real *bias;      /* [n], added to every row; NULL: none */
    Activation activation; /* applied to A·B + bias */
    real *pre_activation;  /* receives A·B + bias if there is an activation, laid out as C; NULL: unwanted */

    /* `batch` products, their operands this many elements apart; 0 or 1: one product. */
    long batch, stride_a, stride_b, stride_c;
} Gemm;

#endif
