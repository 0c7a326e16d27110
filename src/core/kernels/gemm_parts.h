/* The parts of the fast product: packing, which copies parts of an operand into the order in which
 * the tile reads them; products with few rows; the epilogue. */
#pragma once

#include "kernels/gemm_tile.h"
#include <stddef.h>

struct Gemm;

/* Copies k rows of x, x[p * ld + j], into panels: panel q, at out + q * apart, holds columns q *
 * PANEL … in rows of PANEL numbers, with 0 from column `width` on. */
void pack_panels(real *out, long apart, const real *x, long ld, long k, long width, long panels);

/* Packs k columns of A, x[i * ld + p], or of Aᵀ, x[p * ld + i], into strips of `height` rows.
 * Element (i, p) of strip s is out[s * apart + p * STRIP_WIDTH + i]; elements of missing rows are
 * finite numbers. x has `rows_left` rows, perhaps more than the strips have. */
void pack_strips(real *out, long apart, bool transposed, const real *x, long ld, long k,
                 long rows_left, long height, long strips);

/* Transposes `width` rows of k numbers, x[j * ld + p], into k rows of `stride` numbers. Numbers
 * after `width` are 0, up to a whole vector. */
void pack_transposed(real *out, long stride, const real *x, long ld, long k, long width);

/* Computes C = A·B with m = 1, layout NN, and applies the epilogue. a, b and c are the operands of
 * one product of g's batch. */
void multiply_row(const struct Gemm *g, const real *a, const real *b, real *c);

enum { WIDE = 8 * LANES }; /* columns of a panel of gemm_pack */

/* Applies the epilogue to `rows` by `columns` elements of C, the first at g->c[at], in column
 * `column`. Called right after they are computed, while they are in the cache. */
void gemm_epilogue(const struct Gemm *g, long at, long column, long rows, long columns);
