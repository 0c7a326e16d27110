/* A vector that is nearly empty costs as much as a full one: of 65 columns the last would take a fifth of the time. So
 * a few columns are computed as rows of Cᵀ = Bᵀ·Aᵀ, whose vectors run along m and are full. Each element is still one
 * chain of multiply-adds over k, and so has the same bits. */
#include "kernels/gemm_thin.h"
#include "kernels/gemm_pack.h"
#include "kernels/gemm_tile.h"
#include <stddef.h>

enum {
    MOST_COLUMNS = (LANES + 3) / 4,
    FEWEST_ROWS = 2 * PANEL,
    STEP = 128, /* of k: a panel of Aᵀ stays in the first-level cache */
};

long thin_columns(const Gemm *g) {
    long columns = g->n % LANES;
    return columns <= MOST_COLUMNS && g->n > columns && g->m >= FEWEST_ROWS ? columns : 0;
}

/* Up to PANEL rows of C: the tile's operands change places. */
static void multiply_rows(const Gemm *g, long rows, long columns, long k, const real *a, const real *b,
                          real *c, bool accumulate) {
    real transposed[STEP * PANEL], ct[MOST_COLUMNS * PANEL];
    long vectors = pack_vectors(rows), last = rows - (vectors - 1) * LANES;
    Strip strip = {b, 1, g->ldb, NULL}; /* rows of Bᵀ */
    if (g->layout == GEMM_NT) strip.row = g->ldb, strip.step = 1;
    Tile *tile = gemm_tile[false][vectors - 1][columns - 1];
    for (long j = 0; j < columns; j++)
        for (long i = 0; i < rows; i++) ct[j * PANEL + i] = accumulate ? c[i * g->ldc + j] : 0;
    for (long p = 0; p < k; p += STEP) {
        long step = k - p < STEP ? k - p : STEP;
        if (g->layout == GEMM_TN)
            pack(transposed, PANEL, a + p * g->lda, g->lda, step, rows);
        else
            pack_transposed(transposed, PANEL, a + p, g->lda, step, rows);
        tile(step, &strip, transposed, PANEL, ct, PANEL, last, true);
        strip.at += step * strip.step;
    }
    for (long i = 0; i < rows; i++)
        for (long j = 0; j < columns; j++) c[i * g->ldc + j] = ct[j * PANEL + i];
}

void multiply_thin(const Gemm *g, long m, long columns, long k, const real *a, const real *b, real *c,
                   bool accumulate) {
    for (long i = 0; i < m; i += PANEL)
        multiply_rows(g, m - i < PANEL ? m - i : PANEL, columns, k,
                      a + i * (g->layout == GEMM_TN ? 1 : g->lda), b, c + i * g->ldc, accumulate);
}
