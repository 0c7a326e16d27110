/* The matrix product C = A·B of row-major matrices, with the options C += A·B, a bias and an activation.
 * Every product of the project is a call of gemm. gemm_plain.c defines the result; README.md in this
 * directory explains the fast code.
 *
 * Each element of C is one chain of multiply-adds over k in ascending order, starting from C (accumulate)
 * or 0. So its bits depend neither on its place in the matrix nor on the number of threads. (With BLAS a
 * library computes the product: its bits depend on the sizes, but not on the number of threads.) */
#ifndef KERNELS_GEMM_H
#define KERNELS_GEMM_H

#include "kernels/gemm_type.h"

/* Runs on the pool's threads where the product is large enough; inside a body of pool_for, on the calling
 * thread. k = 0 gives C = activation(bias). A and B must not overlap C. */
void gemm(const Gemm *g);

/* B of a product A·Bᵀ, [n, k], in the order in which gemm reads it (Gemm.packed): worth its time and memory
 * where many products with few rows follow. `out` has room for gemm_packed_count numbers and is zeroed. */
void gemm_pack(long n, long k, const real *b, real *out);
long gemm_packed_count(long n, long k);

/* The same, of one product (no batch), slowly, with sums in a wider type: the reference of the tests. */
void gemm_plain(const Gemm *g);

#endif
