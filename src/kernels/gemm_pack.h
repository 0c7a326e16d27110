/* Packing: parts of an operand copied into the order in which the tile reads them. */
#ifndef KERNELS_GEMM_PACK_H
#define KERNELS_GEMM_PACK_H

#include "kernels/gemm_tile.h"
#include <stddef.h>

/* The calling thread's memory for what it packs, on a cache line: taken at its first call, which says how much, and freed
 * when the thread ends. If it is not to be had, the program ends with STATUS_NO_MEMORY. */
void *pack_memory(size_t bytes);

/* Whole vectors that hold `width` numbers. */
static inline long pack_vectors(long width) {
    return (width + LANES - 1) / LANES;
}

enum { PACK_ROWS = 16 }; /* that pack asks for in advance */

/* Copies k rows of `width` numbers, x[p * ld + j], to out[p * stride + j], where stride is whole vectors and the
 * columns beyond width are 0. */
typedef void Pack(real *out, long stride, const real *x, long ld, long k, long width);
Pack pack;

/* The same from the transpose, x[j * ld + p]. */
Pack pack_transposed;

#endif
