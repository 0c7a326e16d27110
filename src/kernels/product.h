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

/* What a product of sizes that do not fit is: a bug, told with all of them. */
_Noreturn void product_misfit(GemmLayout layout, Matrix a, Matrix b, Matrix c);

/* The product C = A·B, A·Bᵀ or Aᵀ·B, or with accumulate C += that, as a Gemm: for those who add an epilogue or a
 * batch. Sizes that do not fit are a bug. */
static inline Gemm product_of(GemmLayout layout, Matrix a, Matrix b, Matrix c, bool accumulate) {
    bool a_transposed = layout == GEMM_TN, b_transposed = layout == GEMM_NT;
    long m = a_transposed ? a.columns : a.rows, k = a_transposed ? a.rows : a.columns;
    long n = b_transposed ? b.rows : b.columns;
    if (m != c.rows || n != c.columns || k != (b_transposed ? b.columns : b.rows))
        product_misfit(layout, a, b, c);
    return (Gemm){.layout = layout,
                  .m = m,
                  .n = n,
                  .k = k,
                  .a = a.at,
                  .b = b.at,
                  .c = c.at,
                  .lda = a.ld,
                  .ldb = b.ld,
                  .ldc = c.ld,
                  .accumulate = accumulate};
}

/* C = A·B */
static inline void product_nn(Matrix a, Matrix b, Matrix c, bool accumulate) {
    Gemm g = product_of(GEMM_NN, a, b, c, accumulate);
    gemm(&g);
}

/* C = A·Bᵀ */
static inline void product_nt(Matrix a, Matrix b, Matrix c, bool accumulate) {
    Gemm g = product_of(GEMM_NT, a, b, c, accumulate);
    gemm(&g);
}

/* C = Aᵀ·B */
static inline void product_tn(Matrix a, Matrix b, Matrix c, bool accumulate) {
    Gemm g = product_of(GEMM_TN, a, b, c, accumulate);
    gemm(&g);
}

#endif
