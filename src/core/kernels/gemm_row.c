/* A product with few rows uses a number of B only a few times: packing would write and read all of
 * B once more. Decoding therefore packs B once, for all tokens, into wide panels: WIDE columns of
 * Bᵀ, row by row, one panel after another, so that memory is read in order.
 *
 * An element is one chain of multiply-adds over k, with a tile's bits. Each waits for the last, so
 * a single row computes WIDE columns, eight vectors, at a time. */
#include "kernels/gemm.h"
#include "kernels/gemm_parts.h"

long gemm_packed_count(long n, long k) {
    return (n + WIDE - 1) / WIDE * WIDE * k;
}

void gemm_pack(long n, long k, const real *b, real *out) {
    for (long j = 0; j < n; j += WIDE)
        pack_transposed(out + j * k, WIDE, b + j * k, k, k, n - j < WIDE ? n - j : WIDE);
}

/* Computes `vectors` vectors of C, the last with `last` lanes. Inlined with a constant number. */
static inline __attribute__((always_inline)) void row_vectors(int vectors, long last, const Gemm *g,
                                                              const real *a, const real *b,
                                                              real *c) {
    Vector sum[8];
#pragma GCC unroll 8
    for (int i = 0; i < vectors; i++) {
        sum[i] = (Vector){0};
        if (g->accumulate) sum[i] = vector_load_part(c + i * LANES, vectors > 1 ? LANES : last);
    }
    for (long p = 0; p < g->k; p++) {
#pragma GCC unroll 8
        for (int i = 0; i < vectors; i++)
            sum[i] += a[p] * (vectors > 1 ? vector_load(b + i * LANES) : vector_load_part(b, last));
        b += g->ldb;
    }
#pragma GCC unroll 8
    for (int i = 0; i < vectors; i++)
        vector_store_part(c + i * LANES, sum[i], vectors > 1 ? LANES : last);
}

/* Adds `steps` steps of k to `count` columns of A·Bᵀ, at most LANES each: a square of B, transposed
 * in registers. Inlined, with constants for whole squares. */
static inline __attribute__((always_inline)) Vector add_square(Vector sum, const real *a,
                                                               const real *b, long ldb, long count,
                                                               long steps) {
    Vector row[LANES];
#pragma GCC unroll 16
    for (long i = 0; i < LANES; i++)
        row[i] = i < count ? vector_load_part(b + i * ldb, steps) : (Vector){0};
    vector_transpose(row);
#pragma GCC unroll 16
    for (long i = 0; i < LANES; i++)
        if (i < steps) sum += a[i] * row[i];
    return sum;
}

static void row_of_transposed(const Gemm *g, const real *a, const real *b, real *c) {
    for (long j = 0; j < g->n; j += LANES) {
        long count = g->n - j < LANES ? g->n - j : LANES, p = 0;
        Vector sum = g->accumulate ? vector_load_part(c + j, count) : (Vector){0};
        for (; count == LANES && p + LANES <= g->k; p += LANES)
            sum = add_square(sum, a + p, b + p, g->ldb, LANES, LANES);
        for (; p < g->k; p += LANES)
            sum = add_square(sum, a + p, b + p, g->ldb, count, g->k - p < LANES ? g->k - p : LANES);
        vector_store_part(c + j, sum, count);
        b += LANES * g->ldb;
    }
}

void multiply_row(const Gemm *g, const real *a, const real *b, real *c) {
    long n = g->n, j = 0;
    if (g->layout == GEMM_NT) {
        row_of_transposed(g, a, b, c);
        j = n;
    }
    for (; j + WIDE <= n; j += WIDE) row_vectors(8, LANES, g, a, b + j, c + j);
    for (; j + 4 * LANES <= n; j += 4 * LANES) row_vectors(4, LANES, g, a, b + j, c + j);
    for (; j + 2 * LANES <= n; j += 2 * LANES) row_vectors(2, LANES, g, a, b + j, c + j);
    for (; j < n; j += LANES) row_vectors(1, n - j < LANES ? n - j : LANES, g, a, b + j, c + j);
    if (g->bias || g->activation != ACT_NONE) gemm_epilogue(g, c - g->c, 0, 1, n);
}
