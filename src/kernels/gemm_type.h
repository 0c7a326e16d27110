/* A product of matrices, as gemm.h and the kernels below it have it. */
#ifndef KERNELS_GEMM_TYPE_H
#define KERNELS_GEMM_TYPE_H

#include "base/real.h"
#include "kernels/activation.h"
#include <stdbool.h>

typedef enum GemmLayout {
    GEMM_NN, /* A is stored m×k, B k×n */
    GEMM_NT, /* A is stored m×k, B n×k: C = A·Bᵀ */
    GEMM_TN, /* A is stored k×m, B k×n: C = Aᵀ·B */
} GemmLayout;

typedef struct Gemm {
    GemmLayout layout;
    long m, n, k;
    const real *a, *b;
    real *c;
    long lda, ldb, ldc; /* elements from one stored row to the next */
    bool accumulate;    /* C += A·B instead of C = A·B */

    /* Epilogue, in this order, applied to a finished element. */
    const real *bias;      /* [n], added to every row; NULL: none */
    Activation activation; /* applied to A·B + bias */
    real *before; /* where activation is set: the value before it is kept here, with ldc; NULL: not kept */

    /* `batch` products with the operands this many elements apart; 0 or 1: one product. */
    long batch, stride_a, stride_b, stride_c;
} Gemm;

#endif
