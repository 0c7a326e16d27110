/* Products with few rows, as in decoding, whose time is that of reading B. */
#ifndef KERNELS_GEMM_ROW_H
#define KERNELS_GEMM_ROW_H

#include "kernels/gemm_type.h"

/* C = A·B with m = 1, and the epilogue, for layout NN; a, b and c are the operands of one product of g's batch. */
void multiply_row(const Gemm *g, const real *a, const real *b, real *c);

/* C = A·Bᵀ from g->packed, and the epilogue. */
void multiply_packed_b(const Gemm *g);

#endif
