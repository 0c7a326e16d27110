/* A nearly empty vector costs as much as a full one: the last of 65 columns would take a fifth of the
 * time. Along m the vectors of packed strips are full. An element is still one chain of multiply-adds over
 * k, with the same bits as a tile's. */
#include "kernels/gemm_thin.h"

enum {
    MOST_COLUMNS = (LANES + 3) / 4,
    FEWEST_ROWS = 2 * PANEL,
    TOGETHER = 4, /* strips at a time: enough chains to keep the multiply-adds busy */
    VECTORS = STRIP_WIDTH / LANES,
};

/* One column of that many strips. */
typedef real Column[TOGETHER][STRIP_WIDTH];

long thin_columns(const Gemm *g) {
    long columns = g->n % LANES;
    return columns <= MOST_COLUMNS && g->n > columns && g->m >= FEWEST_ROWS && g->k > 0 ? columns : 0;
}

/* Adds the products of k columns of the strips with b[p * step]. The last strip stands in for missing
 * ones. */
static void add_products(Column column, const real *strip, long apart, long strips, long k, const real *b,
                         long step) {
    Vector sum[TOGETHER][VECTORS];
    const real *at[TOGETHER];
#pragma GCC unroll 4
    for (long s = 0; s < TOGETHER; s++) {
        at[s] = strip + (s < strips ? s : strips - 1) * apart;
#pragma GCC unroll 4
        for (long v = 0; v < VECTORS; v++) sum[s][v] = vector_load(column[s] + v * LANES);
    }
    for (long p = 0; p < k; p++, b += step)
#pragma GCC unroll 4
        for (long s = 0; s < TOGETHER; s++)
#pragma GCC unroll 4
            for (long v = 0; v < VECTORS; v++)
                sum[s][v] += *b * vector_load(at[s] + p * STRIP_WIDTH + v * LANES);
#pragma GCC unroll 4
    for (long s = 0; s < TOGETHER; s++)
#pragma GCC unroll 4
        for (long v = 0; v < VECTORS; v++) vector_store(column[s] + v * LANES, sum[s][v]);
}

void multiply_thin(const Gemm *g, const PackedRows *a, long columns, long k, const real *b, real *c,
                   bool accumulate) {
    long next = g->layout == GEMM_NT ? g->ldb : 1, step = g->layout == GEMM_NT ? 1 : g->ldb;
    for (long first = 0; first < a->strips; first += TOGETHER) {
        long left = a->rows - first * a->height, ldc = g->ldc;
        real *rows = c + first * a->height * ldc;
        for (long j = 0; j < columns; j++) {
            Column column = {{0}};
            for (long i = 0, s = 0; accumulate && i < left && s < TOGETHER; i += a->height, s++)
                for (long r = 0; r < a->height && i + r < left; r++) column[s][r] = rows[(i + r) * ldc + j];
            add_products(column, a->strip + first * a->apart, a->apart, a->strips - first, k, b + j * next,
                         step);
            for (long i = 0, s = 0; i < left && s < TOGETHER; i += a->height, s++)
                for (long r = 0; r < a->height && i + r < left; r++) rows[(i + r) * ldc + j] = column[s][r];
        }
    }
}
