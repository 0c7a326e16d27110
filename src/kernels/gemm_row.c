/* Every number of B is used once, so that packing would write and read again all that is read at all. Instead a square
 * of LANES columns of C by LANES steps of k is transposed on its way through the registers. Each element is still one
 * chain of multiply-adds over k, and so has the same bits as from a tile.
 *
 * What a square costs is the way of its numbers from memory. LANES rows at once are more than processors foresee, so the
 * rows after them, which follow in memory, are asked for meanwhile. */
#include "kernels/gemm_row.h"
#include "base/pool.h"
#include "kernels/gemm_epilogue.h"
#include "kernels/vector.h"

enum {
    CHUNK = 1 << 12,             /* numbers of B worth a chunk of work */
    SQUARES = LANES > 8 ? 1 : 2, /* at a time: a chain over small ones takes longer than their numbers' way */
};

typedef struct Row {
    const Gemm *g;
    const real *a, *b;
    real *c;
    long columns; /* of a chunk: whole vectors */
} Row;

/* Adds `steps` <= LANES steps of k to `count` <= LANES columns. Inlined with these constant where squares are whole. */
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

/* Asks for as much memory from `b` on as a square takes. */
static inline void fetch_square(const real *b) {
    enum { LINE = 64 / sizeof(real) };
#pragma GCC unroll 16
    for (int i = 0; i < LANES * LANES; i += LINE) __builtin_prefetch(b + i);
}

/* `count` columns from j on: those of `squares` whole squares, or fewer of one. Inlined with squares constant. */
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
