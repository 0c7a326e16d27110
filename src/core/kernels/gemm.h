/* The matrix product C = A·B of row-major matrices, with the options C += A·B, a bias and an
 * activation. Every product of the project is a call of gemm. gemm_plain.c defines the result;
 * README.md in this directory explains the fast code.
 *
 * Each element of C is one chain of multiply-adds over k in ascending order, starting from C
 * (accumulate) or 0. So its bits depend neither on its place in the matrix nor on the number of
 * threads. (With BLAS a library computes the product: its bits depend on the sizes, but not on the
 * number of threads.) */
#pragma once

#include "base/real.h"
#include <stdbool.h>

/* The activations that a matrix product can apply to its result. */
typedef enum Activation {
    ACT_NONE,
    ACT_RELU, /* max(x, 0) */
    ACT_GELU, /* x (1 + erf(x / √2)) / 2 */
    ACT_SILU, /* x / (1 + e^-x) */
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
    const real *packed; /* B again, from gemm_pack: one product, GEMM_NT; NULL: none */
    bool accumulate;    /* C += A·B instead of C = A·B */

    /* The epilogue. */
    const real *bias;      /* [n], added to every row; NULL: none */
    Activation activation; /* applied to A·B + bias */
    /* Receives A·B + bias, laid out as C, if there is an activation; NULL: not wanted. */
    real *pre_activation;

    /* `batch` products, their operands this many elements apart; 0 or 1: one product. */
    long batch, stride_a, stride_b, stride_c;
} Gemm;

/* Computes the product, on the pool's threads if it is large; inside a body of pool_for, on the
 * calling thread. k = 0 gives C = activation(bias). A and B must not overlap C. */
void gemm(const Gemm *g);

/* Copies B of a product A·Bᵀ, [n, k], into the order in which gemm reads it (Gemm.packed). This
 * saves time if many products with few rows follow. `out` has gemm_packed_count numbers, all 0. */
void gemm_pack(long n, long k, const real *b, real *out);
long gemm_packed_count(long n, long k);

/* Computes one product (no batch) slowly, with sums in a wider type: the reference of the tests. */
void gemm_plain(const Gemm *g);
