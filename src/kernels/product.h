/* Products of two matrices in one line each, as the formulas of operations have them. */
#ifndef KERNELS_PRODUCT_H
#define KERNELS_PRODUCT_H

#include "kernels/gemm.h"

/* A matrix within an array: element (i, j) is at[i * ld + j]. */
typedef struct Matrix {
    real *at;
    long rows, columns, ld;
} Matrix;

/* A matrix without gaps between its rows. */
static inline Matrix matrix_of(real *at, long rows, long columns) {
    return (Matrix){at, rows, columns, columns};
}

/* `count` rows of x, from row `first` on. */
static inline Matrix matrix_rows(Matrix x, long first, long count) {
    return (Matrix){x.at + first * x.ld, count, x.columns, x.ld};
}

/* C = A·B, C = A·Bᵀ and C = Aᵀ·B; with accumulate, C += instead. Sizes that do not fit are a bug. */
void product_nn(Matrix a, Matrix b, Matrix c, bool accumulate);
void product_nt(Matrix a, Matrix b, Matrix c, bool accumulate);
void product_tn(Matrix a, Matrix b, Matrix c, bool accumulate);

/* Such a product as a Gemm, for callers that add an epilogue or a batch. */
Gemm product_of(GemmLayout layout, Matrix a, Matrix b, Matrix c, bool accumulate);

#endif
