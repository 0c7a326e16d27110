/* A few columns at the right edge of a product. */
#ifndef KERNELS_GEMM_THIN_H
#define KERNELS_GEMM_THIN_H

#include "kernels/gemm_pack.h"
#include "kernels/gemm_type.h"

/* How many columns of C, at its right edge, multiply_thin should compute rather than the tile: those beyond the last
 * whole vector where they are few, of many rows, and not empty sums; otherwise 0. */
long thin_columns(const Gemm *g);

/* C = A·B or C += A·B for these columns, with k numbers of each element's chain; b and c are where the columns begin,
 * stored as in g. */
void multiply_thin(const Gemm *g, const PackedRows *a, long columns, long k, const real *b, real *c,
                   bool accumulate);

#endif
