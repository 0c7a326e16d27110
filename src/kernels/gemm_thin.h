/* A few columns at the right edge of a product. */
#ifndef KERNELS_GEMM_THIN_H
#define KERNELS_GEMM_THIN_H

#include "kernels/gemm_type.h"

/* How many columns of C, at its right edge, multiply_thin should compute rather than the tile: those beyond the last
 * whole vector where they are few and C is large; otherwise 0. */
long thin_columns(const Gemm *g);

/* C = A·B or C += A·B, for m rows and `columns` <= thin_columns(g) columns; a, b and c are where these begin, stored as
 * in g. */
void multiply_thin(const Gemm *g, long m, long columns, long k, const real *a, const real *b, real *c,
                   bool accumulate);

#endif
