/* The one seam for matrix products: every product of the project goes through gemm.
 *
 * C = A·B, all row-major; with the options C += A·B, a bias row, an activation. Each element of C is one
 * chain of multiply-adds over k in ascending order, starting from C (accumulate) or 0, so its bits depend
 * neither on the tile that computes it nor on the number of threads. (Where BLAS is defined, a library computes
 * instead: then bits depend on the sizes too, but still not on the number of threads.) */
#ifndef KERNELS_GEMM_H
#define KERNELS_GEMM_H

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

/* Splits the product over the pool's threads where that pays. Inside a pool_for body it runs on the
 * calling thread. k = 0 gives C = epilogue(0). Operands must not overlap C. */
void gemm(const Gemm *g);

#endif
