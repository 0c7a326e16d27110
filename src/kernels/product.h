/* Products of two matrices, a line each: what the formulas of operations are written in. They are gemm's. */
#ifndef KERNELS_PRODUCT_H
#define KERNELS_PRODUCT_H

#include "kernels/gemm.h"

/* Where a matrix lies: element (i, j) at at[i * ld + j]. */
typedef struct Matrix {
    real *at;
    long rows, columns, ld;
} Matrix;

/* Row after row without a gap. */
static inline Matrix matrix_of(real *at, long rows, long columns) {
    return (Matrix){at, rows, columns, columns};
}

/* `count` rows of x, from `first` on. */
static inline Matrix matrix_rows(Matrix x, long first, long count) {
    return (Matrix){x.at + first * x.ld, count, x.columns, x.ld};
}

/* The product C = A·B, A·Bᵀ or Aᵀ·B, or with accumulate C += that, as a Gemm: for those who add an epilogue or a
 * batch. Sizes that do not fit are a bug. */
Gemm product_of(GemmLayout layout, Matrix a, Matrix b, Matrix c, bool accumulate);

void product_nn(Matrix a, Matrix b, Matrix c, bool accumulate); /* C = A·B */
void product_nt(Matrix a, Matrix b, Matrix c, bool accumulate); /* C = A·Bᵀ */
void product_tn(Matrix a, Matrix b, Matrix c, bool accumulate); /* C = Aᵀ·B */

#endif
