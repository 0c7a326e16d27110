/* The description of a matrix product. */
#ifndef KERNELS_GEMM_TYPE_H
#define KERNELS_GEMM_TYPE_H

#include "base/real.h"
#include "kernels/activation.h"
#include <stdbool.h>

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
