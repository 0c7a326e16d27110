/* The register tile in all its heights and widths, from one definition. */
#include "kernels/gemm_tile.h"

/* Columns of A may lie too far apart for the processor to foresee them: they are asked for this many steps of k ahead. */
enum { AHEAD = 16 };

/* Inlined with rows and vectors constant: then all loops but the one over p are unrolled, their conditions vanish and
 * the sums stay in registers. (The loops run to a constant, because clang unrolls before it inlines.) Rows of A are
 * reached from every fifth one, which needs few enough pointers for the integer registers; so does the loop over p,
 * where it is not unrolled. */
static inline __attribute__((always_inline)) void tile(int rows, int vectors, long k, const Strip *a,
                                                       const real *b, long ldb, real *c, long ldc, long last,
                                                       bool accumulate) {
    Vector sum[TILE_ROWS][TILE_VECTORS];
    const real *fifth[TILE_ROWS];
#pragma GCC unroll 16
    for (int i = 0; i < TILE_ROWS; i++)
        if (i < rows) {
            if (i % 5 == 0) fifth[i] = a->at + i * a->row;
#pragma GCC unroll 4
            for (int j = 0; j < TILE_VECTORS; j++)
                if (j < vectors) {
                    const real *at = c + i * ldc + j * LANES;
                    if (!accumulate)
                        sum[i][j] = (Vector){0};
                    else
                        sum[i][j] = j + 1 < vectors ? vector_load(at) : vector_load_part(at, last);
                }
        }
#pragma GCC unroll 1
    for (long p = 0; p < k; p++) {
        __builtin_prefetch(fifth[0] + AHEAD * a->step);
        Vector row[TILE_VECTORS];
#pragma GCC unroll 4
        for (int j = 0; j < TILE_VECTORS; j++)
            if (j < vectors) row[j] = vector_load(b + j * LANES);
#pragma GCC unroll 16
        for (int i = 0; i < TILE_ROWS; i++)
            if (i < rows) {
                real x = fifth[i - i % 5][i % 5 * a->row];
#pragma GCC unroll 4
                for (int j = 0; j < TILE_VECTORS; j++)
                    if (j < vectors) sum[i][j] += x * row[j];
            }
#pragma GCC unroll 16
        for (int i = 0; i < TILE_ROWS; i += 5)
            if (i < rows) fifth[i] += a->step;
        b += ldb;
    }
    /* Forgets where the rows of C are, or gcc would compute their addresses once and keep them through the
     * loop. */
    __asm__("" : "+r"(c), "+r"(ldc));
#pragma GCC unroll 16
    for (int i = 0; i < TILE_ROWS; i++)
        if (i < rows) {
#pragma GCC unroll 4
            for (int j = 0; j < TILE_VECTORS; j++)
                if (j < vectors) {
                    real *at = c + i * ldc + j * LANES;
                    if (j + 1 < vectors)
                        vector_store(at, sum[i][j]);
                    else
                        vector_store_part(at, sum[i][j], last);
                }
        }
}

/* A function for every width and height, from tile_1_1 on. */
#define DEFINE(vectors, rows)                                                                                \
    static void tile_##vectors##_##rows(long k, const Strip *a, const real *b, long ldb, real *c, long ldc,  \
                                        long last, bool accumulate) {                                        \
        tile(rows, vectors, k, a, b, ldb, c, ldc, last, accumulate);                                         \
    }
#define LIST(vectors, rows) tile_##vectors##_##rows,

#define UP_TO_4(X, v)  X(v, 1) X(v, 2) X(v, 3) X(v, 4)
#define UP_TO_6(X, v)  UP_TO_4(X, v) X(v, 5) X(v, 6)
#define UP_TO_8(X, v)  UP_TO_6(X, v) X(v, 7) X(v, 8)
#define UP_TO_12(X, v) UP_TO_8(X, v) X(v, 9) X(v, 10) X(v, 11) X(v, 12)
#define UP_TO_14(X, v) UP_TO_12(X, v) X(v, 13) X(v, 14)
#define PASTE_(a, b)   a##b
#define PASTE(a, b)    PASTE_(a, b)
#define HEIGHTS(X, v)  PASTE(UP_TO_, TILE_ROWS)(X, v)

HEIGHTS(DEFINE, 1)
HEIGHTS(DEFINE, 2)

Tile *const gemm_tile[TILE_VECTORS][TILE_ROWS] = {{HEIGHTS(LIST, 1)}, {HEIGHTS(LIST, 2)}};
