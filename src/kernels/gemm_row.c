/* A single row uses every number of B once. Packing would write and read all of B once more; instead
 * squares of LANES columns of C by LANES steps of k are transposed in registers. An element is still one
 * chain of multiply-adds over k, with the same bits as a tile's.
 *
 * The time is the time to read B from memory. LANES rows at once are more than processors prefetch by
 * themselves, so the loop prefetches the rows after them. */
#include "kernels/gemm_row.h"
#include "base/pool.h"
#include "kernels/gemm_epilogue.h"
#include "kernels/vector.h"

enum {
    CHUNK = 1 << 12,             /* numbers of B worth a chunk of work */
    SQUARES = LANES > 8 ? 1 : 2, /* at a time: two chains where the adds of one take longer than reading B */
};

typedef struct Row {
    const Gemm *g;
    const real *a, *b;
    real *c;
    long columns; /* of a chunk: whole vectors */
} Row;

/* Adds `steps` steps of k to `count` columns, at most LANES each. Inlined, with constants for whole
 * squares. */
static inline __attribute__((always_inline)) Vector add_square(Vector sum, const real *a, const real *b,
                                                               long ldb, long count, long steps) {
    Vector row[LANES];
#pragma GCC unroll 16
    for (long i = 0; i < LANES; i++) row[i] = i < count ? vector_load_part(b + i * ldb, steps) : (Vector){0};
    vector_transpose(row);
#pragma GCC unroll 16
    for (long i = 0; i < LANES; i++)
        if (i < steps) sum += a[i] * row[i];
    return sum;
}

/* Prefetches as much memory from `b` on as a square takes. */
static inline void fetch_square(const real *b) {
    enum { LINE = 64 / sizeof(real) };
#pragma GCC unroll 16
    for (int i = 0; i < LANES * LANES; i += LINE) __builtin_prefetch(b + i);
}

/* Computes `count` columns from j on: `squares` whole squares, or a part of one. Inlined with a constant
 * `squares`. */
static inline __attribute__((always_inline)) void row_columns(const Row *r, long j, int squares, long count) {
    const Gemm *g = r->g;
    const real *b = r->b + j * g->ldb;
    Vector sum[SQUARES];
    long p = 0, last = count - (squares - 1) * LANES;
#pragma GCC unroll 8
    for (int q = 0; q < squares; q++)
        sum[q] = g->accumulate ? vector_load_part(r->c + j + q * LANES, q + 1 < squares ? LANES : last)
                               : (Vector){0};
    for (; last == LANES && p + LANES <= g->k; p += LANES)
#pragma GCC unroll 8
        for (int q = 0; q < squares; q++) {
            fetch_square(b + LANES * (squares * (g->ldb + p) + q * LANES));
            sum[q] = add_square(sum[q], r->a + p, b + q * LANES * g->ldb + p, g->ldb, LANES, LANES);
        }
    for (; p < g->k; p += LANES)
#pragma GCC unroll 8
        for (int q = 0; q < squares; q++)
            sum[q] = add_square(sum[q], r->a + p, b + q * LANES * g->ldb + p, g->ldb,
                                q + 1 < squares ? LANES : last, g->k - p < LANES ? g->k - p : LANES);
#pragma GCC unroll 8
    for (int q = 0; q < squares; q++)
        vector_store_part(r->c + j + q * LANES, sum[q], q + 1 < squares ? LANES : last);
}

static void row_chunk(void *row, long chunk) {
    const Row *r = row;
    const Gemm *g = r->g;
    long begin = chunk * r->columns, end = begin + r->columns < g->n ? begin + r->columns : g->n, j = begin;
    for (; j + SQUARES * LANES <= end; j += SQUARES * LANES) row_columns(r, j, SQUARES, SQUARES * LANES);
    for (; j < end; j += LANES) row_columns(r, j, 1, end - j < LANES ? end - j : LANES);
    if (g->bias || g->activation != ACT_NONE) gemm_epilogue(g, r->c + begin - g->c, begin, 1, end - begin);
}

void multiply_row(const Gemm *g, const real *a, const real *b, real *c) {
    long columns = CHUNK / (g->k + 1) / (SQUARES * LANES) * (SQUARES * LANES);
    Row r = {g, a, b, c, columns > 0 ? columns : SQUARES * LANES};
    pool_for((g->n + r.columns - 1) / r.columns, row_chunk, &r);
}
