/* The matrix product as a definition: what gemm computes, without regard to speed. */
#include "kernels/gemm.h"
#include "kernels/vector_math.h"

static real activate(Activation activation, WideReal x) {
    switch (activation) {
    case ACT_NONE: break;
    case ACT_RELU: return (real)(x > 0 ? x : 0);
    case ACT_GELU: return (real)(x / 2 * erfc(-x * (WideReal)VM_INV_SQRT_2));
    case ACT_SILU: return (real)(x / (1 + exp(-x)));
    }
    return (real)x;
}

void gemm_plain(const Gemm *g) {
    long a_row = g->layout == GEMM_TN ? 1 : g->lda, a_column = g->layout == GEMM_TN ? g->lda : 1;
    long b_row = g->layout == GEMM_NT ? 1 : g->ldb, b_column = g->layout == GEMM_NT ? g->ldb : 1;
    for (long i = 0; i < g->m; i++)
        for (long j = 0; j < g->n; j++) {
            real *c = g->c + i * g->ldc + j;
            WideReal sum = g->accumulate ? *c : 0;
            for (long p = 0; p < g->k; p++)
                sum += (WideReal)g->a[i * a_row + p * a_column] *
                       (WideReal)g->b[p * b_row + j * b_column];
            if (g->bias) sum += (WideReal)g->bias[j];
            if (g->pre_activation) g->pre_activation[i * g->ldc + j] = (real)sum;
            *c = activate(g->activation, sum);
        }
}
