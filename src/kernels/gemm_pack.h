/* Packing: parts of an operand copied into the order in which the tile reads them. */
#ifndef KERNELS_GEMM_PACK_H
#define KERNELS_GEMM_PACK_H

#include "kernels/gemm_tile.h"

/* Whole vectors that hold `width` numbers. */
static inline long pack_vectors(long width) {
    return (width + LANES - 1) / LANES;
}

/* Copies k rows of `width` numbers, x[p * ld + j], to out[p * stride + j], where stride is whole vectors and the
 * columns beyond width are 0. */
typedef void Pack(real *out, long stride, const real *x, long ld, long k, long width);
Pack pack;

/* The same from the transpose, x[j * ld + p]. */
Pack pack_transposed;

#endif
