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
    for (int i = 0; i < vectors; i++)
        sum[i] = g->accumulate ? vector_load_part(c + i * LANES, vectors > 1 ? LANES : last)
                               : (Vector){0};
    for (long p = 0; p < g->k; p++, b += g->ldb)
#pragma GCC unroll 8
        for (int i = 0; i < vectors; i++)
            sum[i] += a[p] * (vectors > 1 ? vector_load(b + i * LANES) : vector_load_part(b, last));
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
    for (long j = 0; j < g->n; j += LANES, b += LANES * g->ldb) {
        long count = g->n - j < LANES ? g->n - j : LANES, p = 0;
        Vector sum = g->accumulate ? vector_load_part(c + j, count) : (Vector){0};
        for (; count == LANES && p + LANES <= g->k; p += LANES)
            sum = add_square(sum, a + p, b + p, g->ldb, LANES, LANES);
        for (; p < g->k; p += LANES)
            sum = add_square(sum, a + p, b + p, g->ldb, count, g->k - p < LANES ? g->k - p : LANES);
        vector_store_part(c + j, sum, count);
    }
}

void multiply_row(const Gemm *g, const real *a, const real *b, real *c) {
    real *begin = c, *end = c + g->n;
    if (g->layout == GEMM_NT) row_of_transposed(g, a, b, c), c = end;
    for (; c + WIDE <= end; b += WIDE, c += WIDE) row_vectors(8, LANES, g, a, b, c);
    for (; c + 4 * LANES <= end; b += 4 * LANES, c += 4 * LANES) row_vectors(4, LANES, g, a, b, c);
    for (; c + 2 * LANES <= end; b += 2 * LANES, c += 2 * LANES) row_vectors(2, LANES, g, a, b, c);
    for (; c < end; b += LANES, c += LANES)
        row_vectors(1, end - c < LANES ? end - c : LANES, g, a, b, c);
    if (g->bias || g->activation != ACT_NONE) gemm_epilogue(g, begin - g->c, 0, 1, g->n);
}
