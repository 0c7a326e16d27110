/* The matrix product in plain loops. */
#include "kernels/gemm.h"
#include "kernels/vector_math.h"
#include <string.h>

static real activate(Activation activation, real x) {
    switch (activation) {
    case ACT_RELU: return x > 0 || x != x ? x : 0;
    case ACT_GELU: return vm_gelu(x);
    default: return x;
    }
}

static void multiply_row(const Gemm *g, const real *a, const real *b, real *c, long i) {
    long step_a = g->layout == GEMM_TN ? g->lda : 1;
    const real *row = g->layout == GEMM_TN ? a + i : a + i * g->lda;
    if (!g->accumulate) memset(c, 0, (size_t)g->n * sizeof *c);
    if (g->layout == GEMM_NT) {
        for (long j = 0; j < g->n; j++)
            for (long p = 0; p < g->k; p++) c[j] += row[p] * b[j * g->ldb + p];
    } else {
        for (long p = 0; p < g->k; p++)
            for (long j = 0; j < g->n; j++) c[j] += row[p * step_a] * b[p * g->ldb + j];
    }
}

static void finish_row(const Gemm *g, real *c, real *before) {
    for (long j = 0; j < g->n; j++) {
        real x = c[j] + (g->bias ? g->bias[j] : 0);
        if (before) before[j] = x;
        c[j] = activate(g->activation, x);
    }
}

void gemm(const Gemm *g) {
    for (long batch = 0; batch < (g->batch > 0 ? g->batch : 1); batch++)
        for (long i = 0; i < g->m; i++) {
            long at = batch * g->stride_c + i * g->ldc;
            multiply_row(g, g->a + batch * g->stride_a, g->b + batch * g->stride_b, g->c + at, i);
            if (g->bias || g->activation) finish_row(g, g->c + at, g->before ? g->before + at : NULL);
        }
}
