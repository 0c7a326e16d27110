/* The register tile: the innermost loop of the matrix product.
 *
 * A tile is `rows` by `vectors` of C, held in registers while k runs:
 *
 *                   b: one row of B's panel, `vectors` wide
 *                   ┌────────┬────────┐
 *                   └────────┴────────┘
 *      a            ┌────────┬────────┐
 *     ┌─┐           │ sum    │        │   each step of k loads `vectors` vectors of B and, row by row,
 *     │ │           ├────────┼────────┤   repeats one number of A in all lanes:
 *     │ │           │        │        │       sum[i][j] += a[i] · b[j]
 *     └─┘           └────────┴────────┘
 *
 * Every height from 1 to TILE_ROWS has its own function, so that any number of rows is cut into tiles of
 * nearly equal height and none is computed in vain.
 *
 * A tile needs more sums than multiply-adds are in flight (8), and many to a load: 16 registers have room for 6 rows
 * (12 sums, 2 vectors of B, 1 number of A), 32 have room for 14. Where k is short the stores of one tile and the first
 * sums of the next should fit into the processor's queues together, which they do up to SHORT_ROWS.
 *
 * A tall tile leaves places for instructions between its multiply-adds: it asks for operands in advance (ASK_AHEAD). With
 * 12 sums a step of k is over in 6 cycles, in which as many loads are made as the processor can: requests would take
 * their place, a fifth of the time, and the loop's own counting is spread over STEPS steps. */
#ifndef KERNELS_GEMM_TILE_H
#define KERNELS_GEMM_TILE_H

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
#elif defined __clang__ /* which has no registers left to reach rows of A in place for more steps */
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
    const real *next; /* of packed strips: where the next tile lies in C; any address will do */
} Strip;

/* C = A·B, or C += A·B if accumulate, for one tile: B's element (p, j) at b[p * ldb + j], readable over the
 * whole width; C's at c[i * ldc + j], of whose last vector only the first `last` lanes are read and written. */
typedef void Tile(long k, const Strip *a, const real *b, long ldb, real *c, long ldc, long last,
                  bool accumulate);

/* [packed][vectors - 1][rows - 1]. If packed, row is 1 and step STRIP_WIDTH; operands come from the second-level cache and
 * C from farther away. What is asked for in advance are they and C of the tile to come, at a->next: a row at a time over
 * the whole loop, so that it keeps no operand waiting. */
extern Tile *const gemm_tile[2][TILE_VECTORS][TILE_ROWS];

#endif
