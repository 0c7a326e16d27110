/* The register tile of every height and width, from one definition. */
#include "kernels/gemm_tile.h"

/* Steps of k between a prefetch and its use. */
enum { AHEAD = 16 };

/* Prefetches a row of a tile of C, which may cross a cache line. */
static inline void fetch_row(const real *c) {
    __builtin_prefetch(c, 1);
    __builtin_prefetch(c + PANEL - 1, 1);
}

/* Inlined with constant rows, vectors and packed, so that all loops except those over p are
 * unrolled, their conditions vanish and the sums stay in registers. (The loops run to a constant,
 * because clang unrolls before it inlines.) A strip in place is addressed by a pointer to every
 * fifth row: more pointers do not fit into the integer registers. */
static inline __attribute__((always_inline)) void tile(int rows, int vectors, bool packed, long k,
                                                       const Strip *a, const real *b, long ldb,
                                                       real *c, long ldc, long last,
                                                       bool accumulate) {
    /* long: clang keeps the sums in registers only if no other function loads or stores them */
    Vector sum[TILE_ROWS][TILE_VECTORS];
    const real *at[TILE_ROWS], *next = a->next;
    bool asks = packed && ASK_AHEAD;
    long row_step = packed ? 1 : a->row, step = packed ? STRIP_WIDTH : a->step;
    long origin = packed ? TILE_ROWS : 5, spell = asks ? k / AHEAD + 1 : k;
#pragma GCC unroll 16
    for (int i = 0; i < TILE_ROWS; i++)
        if (i < rows) {
            if (i % origin == 0) at[i] = a->at + i * row_step;
#pragma GCC unroll 4
            for (int j = 0; j < TILE_VECTORS; j++)
                if (j < vectors) {
                    const real *from = c + i * ldc + j * LANES;
                    if (!accumulate)
                        sum[i][j] = (Vector){0};
                    else
                        sum[i][j] =
                            j + 1 < vectors ? vector_load(from) : vector_load_part(from, last);
                }
        }
    for (long p = 0, end; p < k; p = end) {
        end = k - p < spell ? k : p + spell;
        if (asks) {
            fetch_row(next);
            next += ldc;
        }
#pragma GCC unroll STEPS
        for (long left = end - p; left > 0; left--) {
            if (ASK_AHEAD) __builtin_prefetch(at[0] + AHEAD * step);
            if (asks) {
                __builtin_prefetch(b + AHEAD * ldb);
                __builtin_prefetch(b + AHEAD * ldb + PANEL - 1);
            }
            Vector row[TILE_VECTORS];
#pragma GCC unroll 4
            for (int j = 0; j < TILE_VECTORS; j++)
                if (j < vectors) row[j] = vector_load(b + j * LANES);
#pragma GCC unroll 16
            for (int i = 0; i < TILE_ROWS; i++)
                if (i < rows) {
                    real x = at[i - i % origin][i % origin * row_step];
#pragma GCC unroll 4
                    for (int j = 0; j < TILE_VECTORS; j++)
                        if (j < vectors) sum[i][j] += x * row[j];
                }
#pragma GCC unroll 16
            for (int i = 0; i < TILE_ROWS; i++)
                if (i < rows && i % origin == 0) at[i] += step;
            b += ldb;
        }
    }
    /* Hides c and ldc, or gcc would keep the addresses of C's rows in registers through the loop.
     * */
    __asm__("" : "+r"(c), "+r"(ldc));
#pragma GCC unroll 16
    for (int i = 0; i < TILE_ROWS; i++)
        if (i < rows) {
#pragma GCC unroll 4
            for (int j = 0; j < TILE_VECTORS; j++)
                if (j < vectors) {
                    real *to = c + i * ldc + j * LANES;
                    if (j + 1 < vectors)
                        vector_store(to, sum[i][j]);
                    else
                        vector_store_part(to, sum[i][j], last);
                }
        }
}

/* A function for every width and height, in place and packed: tile_1_1, tile_packed_1_1, … */
#define DEFINE_AS(name, packed, vectors, rows)                                                     \
    static void name##_##vectors##_##rows(long k, const Strip *a, const real *b, long ldb,         \
                                          real *c, long ldc, long last, bool accumulate) {         \
        tile(rows, vectors, packed, k, a, b, ldb, c, ldc, last, accumulate);                       \
    }
#define DEFINE(vectors, rows)                                                                      \
    DEFINE_AS(tile, false, vectors, rows)                                                          \
    DEFINE_AS(tile_packed, true, vectors, rows)
#define LIST(vectors, rows)        tile_##vectors##_##rows,
#define LIST_PACKED(vectors, rows) tile_packed_##vectors##_##rows,

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

Tile *const gemm_tile[2][TILE_VECTORS][TILE_ROWS] = {
    {{HEIGHTS(LIST, 1)}, {HEIGHTS(LIST, 2)}},
    {{HEIGHTS(LIST_PACKED, 1)}, {HEIGHTS(LIST_PACKED, 2)}},
};
