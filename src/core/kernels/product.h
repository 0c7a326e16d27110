/* Products of two matrices in one line each, as the formulas of operations have them. */
#pragma once

#include "base/error.h"
#include "kernels/gemm.h"
#include <stddef.h>

/* A matrix within an array: element (i, j) is at[i * ld + j]. */
typedef struct Matrix {
    real *at;
    long rows, columns, ld;
} Matrix;

/* A matrix without gaps between its rows. */
static inline Matrix matrix_of(real *at, long rows, long columns) {
    return (Matrix){at, rows, columns, columns};
}

/* Returns `count` rows of x, from row `first` on. x.at may be NULL; the result's is then NULL,
 * too. */
static inline Matrix matrix_rows(Matrix x, long first, long count) {
    return (Matrix){x.at ? x.at + first * x.ld : NULL, count, x.columns, x.ld};
}

/* Returns C = A·B, A·Bᵀ or Aᵀ·B as a Gemm, to which the caller may add an epilogue or a batch. With
 * accumulate C += instead. Sizes that do not fit are a bug. */
static inline Gemm product_of(GemmLayout layout, Matrix a, Matrix b, Matrix c, bool accumulate) {
    bool a_transposed = layout == GEMM_TN, b_transposed = layout == GEMM_NT;
    long m = a_transposed ? a.columns : a.rows, k = a_transposed ? a.rows : a.columns;
    long n = b_transposed ? b.rows : b.columns;
    if (m != c.rows || n != c.columns || k != (b_transposed ? b.columns : b.rows))
        error_bug("product: %ldx%ld%s times %ldx%ld%s into %ldx%ld", a.rows, a.columns,
                  a_transposed ? "ᵀ" : "", b.rows, b.columns, b_transposed ? "ᵀ" : "", c.rows,
                  c.columns);
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

static inline void product(GemmLayout layout, Matrix a, Matrix b, Matrix c, bool accumulate) {
    Gemm g = product_of(layout, a, b, c, accumulate);
    gemm(&g);
}

/* C = A·B, C = A·Bᵀ and C = Aᵀ·B of (a, b, c, accumulate). */
#define product_nn(...) product(GEMM_NN, __VA_ARGS__)
#define product_nt(...) product(GEMM_NT, __VA_ARGS__)
#define product_tn(...) product(GEMM_TN, __VA_ARGS__)
