/* Matrix products by a BLAS library, in place of gemm.c: `make BLAS=openblas`. A product is cut
 * into rows by its size alone, and the library runs on one thread, so that the bits are the same
 * for any number of threads. They differ from gemm.c's, and an element's bits may depend on the
 * size of the product. */
#include "base/error.h"
#include "base/pool.h"
#include "kernels/gemm.h"
#include "kernels/gemm_parts.h"
#include <cblas.h>
#include <limits.h>

#ifdef REAL_DOUBLE
#define cblas_gemm cblas_dgemm
#else
#define cblas_gemm cblas_sgemm
#endif

enum { FEWEST_ROWS = 96, MAX_BLOCKS = 32, GRAIN = 1 << 20 };

typedef struct Plan {
    const Gemm *g;
    long blocks; /* of rows, in each product of the batch */
} Plan;

static int size(long n) {
    if (n > INT_MAX)
        error_bug("gemm: a size or stride is %ld, want at most what the BLAS library takes", n);
    return (int)n;
}

static void multiply_rows(void *plan, long chunk) {
    const Plan *p = plan;
    const Gemm *g = p->g;
    long product = chunk / p->blocks, block = chunk % p->blocks;
    long i = g->m * block / p->blocks, rows = g->m * (block + 1) / p->blocks - i;
    const real *a = g->a + product * g->stride_a + (g->layout == GEMM_TN ? i : i * g->lda);
    real *c = g->c + product * g->stride_c + i * g->ldc;
    if (g->k == 0 && !g->accumulate)
        for (long row = 0; row < rows; row++)
            for (long j = 0; j < g->n; j++) c[row * g->ldc + j] = 0;
    if (g->k > 0)
        cblas_gemm(CblasRowMajor, g->layout == GEMM_TN ? CblasTrans : CblasNoTrans,
                   g->layout == GEMM_NT ? CblasTrans : CblasNoTrans, size(rows), size(g->n),
                   size(g->k), 1, a, size(g->lda), g->b + product * g->stride_b, size(g->ldb),
                   g->accumulate, c, size(g->ldc));
    if (g->bias || g->activation != ACT_NONE) gemm_epilogue(g, c - g->c, 0, rows, g->n);
}

/* Before main. */
__attribute__((constructor)) static void one_thread(void) {
    openblas_set_num_threads(1);
}

void gemm(const Gemm *g) {
    if (g->m <= 0 || g->n <= 0) return;
    long batch = g->batch > 1 ? g->batch : 1;
    double grains = (double)g->m * (double)g->n * (double)g->k / GRAIN;
    Plan plan = {g, 1};
    while (plan.blocks < MAX_BLOCKS && (double)plan.blocks < grains &&
           g->m / plan.blocks >= 2 * FEWEST_ROWS)
        plan.blocks *= 2;
    pool_for(plan.blocks * batch, multiply_rows, &plan);
}
