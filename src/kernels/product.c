#include "kernels/product.h"
#include "base/error.h"

Gemm product_of(GemmLayout layout, Matrix a, Matrix b, Matrix c, bool accumulate) {
    bool a_transposed = layout == GEMM_TN, b_transposed = layout == GEMM_NT;
    long m = a_transposed ? a.columns : a.rows, k = a_transposed ? a.rows : a.columns;
    long n = b_transposed ? b.rows : b.columns;
    if (m != c.rows || n != c.columns || k != (b_transposed ? b.columns : b.rows))
        error_bug("product: %ldx%ld%s times %ldx%ld%s into %ldx%ld", a.rows, a.columns,
                  a_transposed ? "ᵀ" : "", b.rows, b.columns, b_transposed ? "ᵀ" : "", c.rows, c.columns);
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

static void product(GemmLayout layout, Matrix a, Matrix b, Matrix c, bool accumulate) {
    Gemm g = product_of(layout, a, b, c, accumulate);
    gemm(&g);
}

void product_nn(Matrix a, Matrix b, Matrix c, bool accumulate) {
    product(GEMM_NN, a, b, c, accumulate);
}

void product_nt(Matrix a, Matrix b, Matrix c, bool accumulate) {
    product(GEMM_NT, a, b, c, accumulate);
}

void product_tn(Matrix a, Matrix b, Matrix c, bool accumulate) {
    product(GEMM_TN, a, b, c, accumulate);
}
