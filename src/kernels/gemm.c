/* The matrix product.
 *
 *            n               C is computed in phases: at most STEP of k, and as many columns as the part of B
 *      ┌─────┬─────┬──┐      that belongs to them finds room for where it is packed. A phase
 *      │     │     │  │        - packs, where that pays, its part of B into panels, PANEL columns wide;
 *    m ├─────┼─────┼──┤        - cuts its part of C into blocks. In a block a strip, up to TILE_ROWS rows of A,
 *      │     │░░░░░│  │          which stays in the first-level cache, meets one panel after another.
 *      └─────┴─────┴──┘      Both are chunks of work for the thread pool.
 *
 *               panels of B       Each meeting is a tile of C, which gemm_tile computes in registers.
 *               ┌──┬──┬──┬─┐
 *               │  │▒▒│  │ │      Small products read B where it is: the rows of a panel are then far apart, which
 *               └──┴──┴──┴─┘      only large matrices mind. A panel at the right edge that does not fill its
 *     strip  ┌─┐┌──┬──┬──┬─┐      vectors is packed in any case, and padded with zeros; of C only the columns that
 *      of A  │▒││  │░░│  │ │      exist are touched. (A few last columns are left to gemm_thin.c.)
 *            └─┘└──┴──┴──┴─┘
 *
 * No path rounds differently than another: an element is one chain of multiply-adds over k, carried from phase to
 * phase in C itself. So its bits do not depend on blocks, and blocks follow from the sizes alone. */
#include "kernels/gemm.h"
#include "base/pool.h"
#include "kernels/gemm_finish.h"
#include "kernels/gemm_pack.h"
#include "kernels/gemm_thin.h"
#include <stddef.h>
#include <stdint.h>

enum {
    STEP = 512,                         /* of k: a strip of A then fills two thirds of a first-level cache */
    PACKED = 512 * 1024 / sizeof(real), /* of B, in a phase */
    LARGE = 1 << 18,                    /* numbers of B that are slow to read in place */
    GRAIN = 1 << 18,                    /* multiply-adds worth a chunk: a few microseconds */
    PACKING = 1 << 15,                  /* numbers to copy worth a chunk */
    MOST_CHUNKS = 32,
};

/* Where B is packed: memory of the thread that calls gemm. Being static, it cannot fail to be had, and it takes real
 * memory only where it has been used. */
static _Thread_local _Alignas(64) real packed_panels[PACKED];

/* The columns of a phase as the tile reads them: `count` whole panels, each `apart` numbers after the one before, and
 * perhaps a narrower one at the right edge. */
typedef struct Panels {
    const real *whole, *edge;
    long count, apart, ldb;
    long edge_vectors, edge_last, edge_ldb; /* edge_vectors is 0 where there is none */
    real *packed, *packed_edge;             /* where they are packed; NULL: they lie in B */
} Panels;

/* All rows of C, columns [j, j + n), and k numbers of each element's chain: what a, b and c begin with. */
typedef struct Phase {
    const Gemm *g;
    const real *a, *b;
    real *c;
    long j, n, k, thin; /* thin: columns behind these that are left to multiply_thin */
    bool accumulate, last, pack, far;
    Panels panels;
    long packing_chunks, row_blocks, column_blocks;
} Phase;

static long ceil_div(long a, long b) {
    return (a + b - 1) / b;
}

static long least(long a, long b) {
    return a < b ? a : b;
}

/* Numbers from one column of B to the next. */
static long column_step(const Gemm *g) {
    return g->layout == GEMM_NT ? g->ldb : 1;
}

static void lay_panels(Phase *f) {
    Panels *panels = &f->panels;
    long edge = f->n % PANEL, whole = f->n - edge;
    *panels = (Panels){.whole = f->b, .count = whole / PANEL, .apart = PANEL, .ldb = f->g->ldb};
    if (f->pack) {
        panels->whole = panels->packed = packed_panels;
        panels->apart = PANEL * f->k, panels->ldb = PANEL;
    }
    if (edge == 0) return;
    panels->edge_vectors = pack_vectors(edge);
    panels->edge_last = edge - (panels->edge_vectors - 1) * LANES;
    if (f->pack || panels->edge_last != LANES) {
        panels->edge = panels->packed_edge = packed_panels + (f->pack ? whole * f->k : 0);
        panels->edge_ldb = panels->edge_vectors * LANES;
    } else {
        panels->edge = f->b + whole, panels->edge_ldb = f->g->ldb;
    }
}

/* Packs the chunk's share of the whole panels; the last chunk, the edge too. */
static void pack_chunk(void *phase, long chunk) {
    const Phase *f = phase;
    const Panels *panels = &f->panels;
    long chunks = f->packing_chunks, ldb = f->g->ldb, panel_step = PANEL * column_step(f->g);
    Pack *copy = f->g->layout == GEMM_NT ? pack_transposed : pack;
    if (panels->packed) {
        long q = panels->count * chunk / chunks, end = panels->count * (chunk + 1) / chunks;
        for (; q < end; q++)
            copy(panels->packed + q * panels->apart, PANEL, f->b + q * panel_step, ldb, f->k, PANEL);
    }
    if (panels->packed_edge && chunk + 1 == chunks)
        copy(panels->packed_edge, panels->edge_ldb, f->b + panels->count * panel_step, ldb, f->k,
             f->n - panels->count * PANEL);
}

/* Asks for a tile of C, which is written when its sums are done, and may be far away. */
static inline void fetch_tile(const real *c, long ldc, long rows) {
    for (long i = 0; i < rows; i++, c += ldc) {
        __builtin_prefetch(c, 1);
        __builtin_prefetch(c + PANEL - 1, 1);
    }
}

/* Rows [i, i + m) of C by the panels [first, end), where the one after the last whole panel is the edge. */
static void multiply_block(const Phase *f, long i, long m, long first, long end) {
    const Gemm *g = f->g;
    const Panels *b = &f->panels;
    TileOperand operand = g->layout == GEMM_TN ? A_BY_COLUMNS : A_BY_ROWS;
    long row_step = g->layout == GEMM_TN ? 1 : g->lda;
    bool finishes = f->last && (g->bias || g->activation != ACT_NONE);
    long last_column = end * PANEL < f->n ? end * PANEL : f->n + f->thin;
    if (last_column > f->n)
        multiply_thin(g, m, f->thin, f->k, f->a + i * row_step, f->b + f->n * column_step(g),
                      f->c + i * g->ldc + f->n, f->accumulate);
    long strips = ceil_div(m, TILE_ROWS), height = m / strips, higher = m % strips;
    for (long s = 0, rows; s < strips; s++, i += rows) {
        rows = height + (s < higher);
        const real *a = f->a + i * row_step, *panel = b->whole + first * b->apart;
        real *strip = f->c + i * g->ldc, *c = strip + first * PANEL;
        Tile *tile = gemm_tile[operand][TILE_VECTORS - 1][rows - 1];
        for (long q = first; q < least(end, b->count); q++, panel += b->apart, c += PANEL) {
            if (f->far) fetch_tile(f->accumulate ? c + PANEL : c, g->ldc, rows);
            tile(f->k, a, g->lda, panel, b->ldb, c, g->ldc, LANES, f->accumulate);
        }
        if (end > b->count) {
            tile = gemm_tile[operand][b->edge_vectors - 1][rows - 1];
            tile(f->k, a, g->lda, b->edge, b->edge_ldb, c, g->ldc, b->edge_last, f->accumulate);
        }
        if (finishes)
            gemm_finish(g, strip + first * PANEL - g->c, f->j + first * PANEL, rows,
                        last_column - first * PANEL);
    }
}

static void multiply_chunk(void *phase, long chunk) {
    const Phase *f = phase;
    long row = chunk % f->row_blocks, column = chunk / f->row_blocks, panels = ceil_div(f->n, PANEL);
    long m = f->g->m, i = m * row / f->row_blocks, i_end = m * (row + 1) / f->row_blocks;
    multiply_block(f, i, i_end - i, panels * column / f->column_blocks,
                   panels * (column + 1) / f->column_blocks);
}

/* A small product goes to few threads, in as large chunks as that leaves; a large one is cut finely, so that none
 * waits long for the last chunk. */
static double blocks_wanted(double work) {
    double grains = work / GRAIN;
    if (grains <= 4) return grains;
    return grains <= 16 ? 4 : grains <= 4 * MOST_CHUNKS ? grains / 4 : MOST_CHUNKS;
}

static void cut_blocks(Phase *f) {
    enum { FEWEST_ROWS = 96, FEWEST_COLUMNS = 2 * PANEL };
    f->row_blocks = f->column_blocks = 1;
    if (f->g->m <= 64 && f->n <= 64) return;
    double wanted = blocks_wanted((double)f->g->m * (double)f->n * (double)f->k);
    while (2.0 * (double)(f->row_blocks * f->column_blocks) <= wanted) {
        long rows = f->g->m / (f->row_blocks * FEWEST_ROWS),
             columns = f->n / (f->column_blocks * FEWEST_COLUMNS);
        if (rows < 2 && columns < 2) break;
        if (rows > columns)
            f->row_blocks *= 2;
        else
            f->column_blocks *= 2;
    }
}

static void run_phase(Phase *f) {
    lay_panels(f);
    f->packing_chunks = f->pack ? least(f->n * f->k / PACKING + 1, MOST_CHUNKS) : 1;
    if (f->packing_chunks > 1)
        pool_for(f->packing_chunks, pack_chunk, f);
    else if (f->panels.packed || f->panels.packed_edge)
        pack_chunk(f, 0);
    cut_blocks(f);
    if (f->row_blocks * f->column_blocks > 1)
        pool_for(f->row_blocks * f->column_blocks, multiply_chunk, f);
    else
        multiply_block(f, 0, f->g->m, 0, ceil_div(f->n, PANEL));
}

/* One product of the batch. */
static void multiply(const Gemm *g, long product) {
    const real *a = g->a + product * g->stride_a, *b = g->b + product * g->stride_b;
    real *c = g->c + product * g->stride_c;
    Phase f;
    f.g = g;
    f.pack = g->layout == GEMM_NT || (g->m >= 128 && g->n * g->k >= LARGE);
    f.far = g->m * g->n >= LARGE;
    long thin = thin_columns(g), n = g->n - thin;
    long panels = ceil_div(n, PANEL), steps = g->k > STEP ? ceil_div(g->k, STEP) : 1, parts = 1;
    if (f.pack && panels * PANEL * g->k > PACKED)
        parts = ceil_div(panels, PACKED / PANEL / ceil_div(g->k, steps));
    for (long part = 0; part < parts; part++) {
        f.j = panels * part / parts * PANEL;
        f.n = least(panels * (part + 1) / parts * PANEL, n) - f.j;
        f.thin = f.j + f.n == n ? thin : 0;
        f.c = c + f.j;
        for (long step = 0, p = 0; step < steps; step++, p += f.k) {
            f.k = steps == 1 ? g->k : g->k * (step + 1) / steps - p;
            f.a = a + (g->layout == GEMM_TN ? p * g->lda : p);
            f.b = b + f.j * column_step(g) + (g->layout == GEMM_NT ? p : p * g->ldb);
            f.accumulate = g->accumulate || step > 0;
            f.last = step + 1 == steps;
            run_phase(&f);
        }
    }
}

static void multiply_product(void *g, long product) {
    multiply(g, product);
}

void gemm(const Gemm *g) {
    if (g->m <= 0 || g->n <= 0) return;
    long batch = g->batch > 1 ? g->batch : 1;
    if (batch > 1 && (double)g->m * (double)g->n * (double)g->k <= 16.0 * GRAIN)
        pool_for(batch, multiply_product, (void *)(uintptr_t)g);
    else
        for (long product = 0; product < batch; product++) multiply(g, product);
}
