/* The register tile in all its heights and widths, from one definition. */
#include "kernels/gemm_tile.h"

/* Columns of A lie too far apart for the processor to foresee them: they are asked for this many steps of k ahead. */
enum { AHEAD = 16 };

/* Inlined with operand, rows and vectors constant: then all loops but the one over p are unrolled, their
 * conditions vanish and the sums stay in registers. (The loops run to a constant, because clang unrolls
 * before it inlines.) Rows of A are reached from every third one, which needs few enough pointers for the
 * integer registers; so does the loop over p, where it is not unrolled. */
static inline __attribute__((always_inline)) void tile(TileOperand operand, int rows, int vectors, long k,
                                                       const real *a, long lda, const real *b, long ldb,
                                                       real *c, long ldc, long last, bool accumulate) {
    Vector sum[TILE_ROWS][TILE_VECTORS];
    const real *third[TILE_ROWS];
#pragma GCC unroll 16
    for (int i = 0; i < TILE_ROWS; i++)
        if (i < rows) {
            if (i % 3 == 0) third[i] = a + i * lda;
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
        if (operand == A_BY_COLUMNS) __builtin_prefetch(a + AHEAD * lda);
        Vector row[TILE_VECTORS];
#pragma GCC unroll 4
        for (int j = 0; j < TILE_VECTORS; j++)
            if (j < vectors) row[j] = vector_load(b + j * LANES);
#pragma GCC unroll 16
        for (int i = 0; i < TILE_ROWS; i++)
            if (i < rows) {
                real x = operand == A_BY_ROWS ? third[i - i % 3][i % 3 * lda] : a[i];
#pragma GCC unroll 4
                for (int j = 0; j < TILE_VECTORS; j++)
                    if (j < vectors) sum[i][j] += x * row[j];
            }
#pragma GCC unroll 16
        for (int i = 0; i < TILE_ROWS; i += 3)
            if (i < rows) third[i]++;
        a += lda;
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

/* A function for every operand, width and height, from tile_by_rows_1_1 on. */
#define DEFINE(operand, name, vectors, rows)                                                                 \
    static void tile_##name##_##vectors##_##rows(long k, const real *a, long lda, const real *b, long ldb,   \
                                                 real *c, long ldc, long last, bool accumulate) {            \
        tile(operand, rows, vectors, k, a, lda, b, ldb, c, ldc, last, accumulate);                           \
    }
#define LIST(operand, name, vectors, rows) tile_##name##_##vectors##_##rows,

#define UP_TO_4(X, o, n, v)  X(o, n, v, 1) X(o, n, v, 2) X(o, n, v, 3) X(o, n, v, 4)
#define UP_TO_6(X, o, n, v)  UP_TO_4(X, o, n, v) X(o, n, v, 5) X(o, n, v, 6)
#define UP_TO_8(X, o, n, v)  UP_TO_6(X, o, n, v) X(o, n, v, 7) X(o, n, v, 8)
#define UP_TO_10(X, o, n, v) UP_TO_8(X, o, n, v) X(o, n, v, 9) X(o, n, v, 10)
#define PASTE_(a, b)         a##b
#define PASTE(a, b)          PASTE_(a, b)
#define HEIGHTS(X, o, n, v)  PASTE(UP_TO_, TILE_ROWS)(X, o, n, v)

HEIGHTS(DEFINE, A_BY_ROWS, by_rows, 1)
HEIGHTS(DEFINE, A_BY_ROWS, by_rows, 2)
HEIGHTS(DEFINE, A_BY_COLUMNS, by_columns, 1)
HEIGHTS(DEFINE, A_BY_COLUMNS, by_columns, 2)

#define TABLE(o, n)                                                                                          \
    {                                                                                                        \
        {HEIGHTS(LIST, o, n, 1)}, {                                                                          \
            HEIGHTS(LIST, o, n, 2)                                                                           \
        }                                                                                                    \
    }

Tile *const gemm_tile[2][TILE_VECTORS][TILE_ROWS] = {
    [A_BY_ROWS] = TABLE(A_BY_ROWS, by_rows), [A_BY_COLUMNS] = TABLE(A_BY_COLUMNS, by_columns)};
