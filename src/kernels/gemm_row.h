/* A product of a single row and a transposed matrix: decoding computes one token at a time. */
#ifndef KERNELS_GEMM_ROW_H
#define KERNELS_GEMM_ROW_H

#include "kernels/gemm_type.h"

/* C = A·Bᵀ with m = 1, and the epilogue; a, b and c are the operands of one product of g's batch. */
void multiply_row(const Gemm *g, const real *a, const real *b, real *c);

#endif
