/* Packing: blocks of an operand copied into the order in which the tile reads them.
 *
 * A panel is `width` <= PANEL columns of B over k rows: out[p * stride + j] = B(p, j), where stride is
 * `vectors` whole vectors and the columns from width up to it are 0. */
#ifndef KERNELS_GEMM_PACK_H
#define KERNELS_GEMM_PACK_H

#include "kernels/gemm_tile.h"

static inline long pack_vectors(long width) {
    return (width + LANES - 1) / LANES;
}

/* From B stored k×n: b[p * ldb + j]. */
void pack_panel(real *out, const real *b, long ldb, long k, long width);

/* From B stored n×k: b[j * ldb + p]. */
void pack_panel_transposed(real *out, const real *b, long ldb, long k, long width);

#endif
