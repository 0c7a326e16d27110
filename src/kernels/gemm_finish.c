#include "kernels/gemm_finish.h"
#include "kernels/vector.h"
#include "kernels/vector_math.h"
#include <stddef.h>

/* A NaN stays. */
static inline Vector relu(Vector x) {
    __typeof__(x < x) negative = x < 0;
    return (Vector)((__typeof__(negative))x & ~negative);
}

static inline Vector gelu(Vector x) {
    real y[LANES];
    vector_store(y, x);
    for (int l = 0; l < LANES; l++) y[l] = vm_gelu(y[l]);
    return vector_load(y);
}

/* Inlined with the activation constant, so that each has a loop of its own. */
static inline __attribute__((always_inline)) void finish(const Gemm *g, Activation activation, real *before,
                                                         long at, long column, long rows, long columns) {
    for (long i = 0; i < rows; i++, at += g->ldc)
        for (long j = 0; j < columns; j += LANES) {
            long count = columns - j < LANES ? columns - j : LANES;
            Vector v = vector_load_part(g->c + at + j, count);
            if (g->bias) v += vector_load_part(g->bias + column + j, count);
            if (before) vector_store_part(before + at + j, v, count);
            if (activation == ACT_RELU) v = relu(v);
            if (activation == ACT_GELU) v = gelu(v);
            vector_store_part(g->c + at + j, v, count);
        }
}

void gemm_finish(const Gemm *g, long at, long column, long rows, long columns) {
    switch (g->activation) {
    case ACT_NONE: finish(g, ACT_NONE, NULL, at, column, rows, columns); break;
    case ACT_RELU: finish(g, ACT_RELU, g->before, at, column, rows, columns); break;
    case ACT_GELU: finish(g, ACT_GELU, g->before, at, column, rows, columns); break;
    }
}
