/* The last columns of a product, if they are few. */
#ifndef KERNELS_GEMM_THIN_H
#define KERNELS_GEMM_THIN_H

#include "kernels/gemm_pack.h"
#include "kernels/gemm_type.h"

/* How many of the last columns of C multiply_thin should compute in place of the tile: those after the
 * last whole vector, if they are few, long, and k > 0; otherwise 0. */
long thin_columns(const Gemm *g);

/* C = A·B or C += A·B for these columns over a step of k; b and c point to their first elements, stored as
 * in g. */
void multiply_thin(const Gemm *g, const PackedRows *a, long columns, long k, const real *b, real *c,
                   bool accumulate);

#endif
