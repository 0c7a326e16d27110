#include "kernels/gemm.h"
#include "kernels/gemm_parts.h"
#include "kernels/vector.h"
#include "kernels/vector_math.h"
#include <stddef.h>

/* NaN stays NaN. */
static inline Vector relu(Vector x) {
    __typeof__(x < x) negative = x < 0;
    return (Vector)((__typeof__(negative))x & ~negative);
}

/* Inlined with a constant function, which the compiler turns into one of vectors. */
static inline __attribute__((always_inline)) Vector each(Vector x, real (*f)(real)) {
    real y[LANES];
    vector_store(y, x);
    for (int l = 0; l < LANES; l++) y[l] = f(y[l]);
    return vector_load(y);
}

/* `count` numbers of C from `at` on. Inlined with a constant activation. */
static inline __attribute__((always_inline)) void finish(const Gemm *g, Activation activation,
                                                         real *kept, long at, long column,
                                                         long count) {
    Vector v = vector_load_part(g->c + at, count);
    if (g->bias) v += vector_load_part(g->bias + column, count);
    if (kept) vector_store_part(kept + at, v, count);
    if (activation == ACT_RELU) v = relu(v);
    if (activation == ACT_GELU) v = each(v, vm_gelu);
    if (activation == ACT_SILU) v = each(v, vm_silu);
    vector_store_part(g->c + at, v, count);
}

static inline __attribute__((always_inline)) void epilogue(const Gemm *g, Activation activation,
                                                           real *kept, long at, long column,
                                                           long rows, long columns) {
    for (long i = 0; i < rows; i++) {
        long j = 0;
        for (; j + LANES <= columns; j += LANES)
            finish(g, activation, kept, at + j, column + j, LANES);
        if (j < columns) finish(g, activation, kept, at + j, column + j, columns - j);
        at += g->ldc;
    }
}

void gemm_epilogue(const Gemm *g, long at, long column, long rows, long columns) {
    switch (g->activation) {
    case ACT_NONE: epilogue(g, ACT_NONE, NULL, at, column, rows, columns); break;
    case ACT_RELU: epilogue(g, ACT_RELU, g->pre_activation, at, column, rows, columns); break;
    case ACT_GELU: epilogue(g, ACT_GELU, g->pre_activation, at, column, rows, columns); break;
    case ACT_SILU: epilogue(g, ACT_SILU, g->pre_activation, at, column, rows, columns); break;
    }
}
