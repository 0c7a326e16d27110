/* The register tile: the innermost loop of the matrix product.
 *
 * A tile is `rows` by `vectors` of C, held in registers while k runs:
 *
 *                   b: one row of B's panel, `vectors` wide
 *                   ┌────────┬────────┐
 *                   └────────┴────────┘
 *      a            ┌────────┬────────┐
 *     ┌─┐           │ sum    │        │   each step of k loads `vectors` vectors of B and, row
 *     │ │           ├────────┼────────┤   by row, repeats one number of A in all lanes:
 *     │ │           │        │        │       sum[i][j] += a[i] · b[j]
 *     └─┘           └────────┴────────┘
 *
 * Every height from 1 to TILE_ROWS has its own function, so that any number of rows is cut into
 * tiles of nearly equal height, without padding.
 *
 * A tile needs more sums than the processor has multiply-adds in flight (8), and many of them for
 * each load. 16 registers hold 6 rows (12 sums, 2 vectors of B, 1 number of A), 32 registers hold
 * 14. If k is short, the stores of one tile and the first sums of the next should fit into the
 * processor's queues together: SHORT_ROWS.
 *
 * A tall tile has free slots between its multiply-adds and prefetches its operands (ASK_AHEAD). A
 * tile of 12 sums has none: a step of k takes 6 cycles and issues as many loads as the processor
 * can, and prefetching would cost a fifth of the time. It unrolls k by STEPS, to count less often.
 * */
#pragma once

#include "kernels/vector.h"
#include <stdbool.h>

#if defined __AVX512F__
#define TILE_ROWS 14
#elif defined __AVX__
#define TILE_ROWS 6
#elif defined __aarch64__
#define TILE_ROWS 8
#else
#define TILE_ROWS 4
#endif

#if defined __AVX512F__
enum { SHORT_ROWS = 10, ASK_AHEAD = 1, STEPS = 1 };
#elif defined __clang__ /* which runs out of integer registers at 4 steps */
enum { SHORT_ROWS = TILE_ROWS, ASK_AHEAD = 0, STEPS = 2 };
#else
enum { SHORT_ROWS = TILE_ROWS, ASK_AHEAD = 0, STEPS = 4 };
#endif

enum {
    TILE_VECTORS = 2,
    PANEL = TILE_VECTORS * LANES,
    STRIP_WIDTH = (TILE_ROWS + LANES - 1) / LANES * LANES,
};

/* Rows of A: element (i, p) at at[i * row + p * step]. */
typedef struct Strip {
    const real *at;
    long row, step;
    const real
        *next; /* of a packed strip: the next tile of C, to be prefetched; any address is valid */
} Strip;

/* C = A·B, or C += A·B if accumulate, for one tile. B's element (p, j) is b[p * ldb + j], readable
 * over the whole width; C's is c[i * ldc + j]. Only the first `last` lanes of C's last vector are
 * read and written. */
typedef void Tile(long k, const Strip *a, const real *b, long ldb, real *c, long ldc, long last,
                  bool accumulate);

/* The tiles, by [packed][vectors - 1][rows - 1]. A packed strip has row 1 and step STRIP_WIDTH. Its
 * tile prefetches its operands, which are in the second-level cache, and the next tile of C,
 * a->next: one row at a time, spread over the loop, so that this delays no operand. */
extern Tile *const gemm_tile[2][TILE_VECTORS][TILE_ROWS];
