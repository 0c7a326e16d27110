#include "kernels/product.h"
#include "base/error.h"

void product_misfit(GemmLayout layout, Matrix a, Matrix b, Matrix c) {
    error_bug("product: %ldx%ld%s times %ldx%ld%s into %ldx%ld", a.rows, a.columns,
              layout == GEMM_TN ? "ᵀ" : "", b.rows, b.columns, layout == GEMM_NT ? "ᵀ" : "", c.rows,
              c.columns);
}
