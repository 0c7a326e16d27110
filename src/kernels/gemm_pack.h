/* Packing: parts of an operand copied into the order in which the tile reads them. */
#ifndef KERNELS_GEMM_PACK_H
#define KERNELS_GEMM_PACK_H

#include "kernels/gemm_tile.h"
#include <stdbool.h>
#include <stddef.h>

/* The calling thread's memory for what it packs, on a cache line: taken at its first call, which says how much, and freed
 * when the thread ends. If it is not to be had, the program ends with STATUS_NO_MEMORY. */
void *pack_memory(size_t bytes);

/* Whole vectors that hold `width` numbers. */
static inline long pack_vectors(long width) {
    return (width + LANES - 1) / LANES;
}

/* Copies k rows of x, x[p * ld + j], columns to panels: panel q, at out + q * apart, has rows of PANEL numbers, those from
 * column q * PANEL on. From column `width` on they are 0. */
void pack_panels(real *out, long apart, const real *x, long ld, long k, long width, long panels);

/* Rows of A in strips: strip s, at strip + s * apart, has `height` rows, the last one those that are left; element (i, p)
 * of a strip is at [p * STRIP_WIDTH + i]. What is in the place of rows beyond these is a number all the same. */
typedef struct PackedRows {
    real *strip;
    long apart, rows, height, strips;
} PackedRows;

/* Packs k columns of A, x[i * ld + p], or of Aᵀ, x[p * ld + i]. Behind the rows that are packed others may follow: in all
 * there are `rows_left`. */
void pack_strips(const PackedRows *to, bool transposed, const real *x, long ld, long k, long rows_left);

/* Copies `width` rows of x, x[j * ld + p] for p below k, to k rows of `stride` numbers: whole vectors, in which numbers
 * beyond width are 0. */
void pack_transposed(real *out, long stride, const real *x, long ld, long k, long width);

#endif
