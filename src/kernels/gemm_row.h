/* A single row of a product with B transposed: what a model computes that says one token at a time. */
#ifndef KERNELS_GEMM_ROW_H
#define KERNELS_GEMM_ROW_H

#include "kernels/gemm_type.h"

/* C = A·Bᵀ with m = 1, epilogue included; a, b and c are where one product of g's batch begins. */
void multiply_row(const Gemm *g, const real *a, const real *b, real *c);

#endif
