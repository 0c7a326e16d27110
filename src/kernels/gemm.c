/* The matrix product.
 *
 *            n                    C is cut into blocks, each a chunk of work for the thread pool. A block goes through
 *      ┌─────┬─────┬──┐           k in steps of at most STEP; in each step it
 *      │     │     │  │             - packs, where that pays, its part of B into panels, PANEL columns wide, which
 *    m ├─────┼─────┼──┤               then lie one after another in the second-level cache;
 *      │     │░░░░░│  │             - takes a strip of up to TILE_ROWS rows of A, which stays in the first-level
 *      └─────┴─────┴──┘               cache, and meets it with one panel after another.
 *
 *               panels of B       Each meeting is a tile of C, which gemm_tile computes in registers.
 *               ┌──┬──┬──┬─┐
 *               │  │▒▒│  │ │      Small products read A and B where they are: the rows of a panel and the columns
 *               └──┴──┴──┴─┘      of a strip are then far apart, which only large matrices mind. A panel at the
 *     strip  ┌─┐┌──┬──┬──┬─┐      right edge that does not fill its vectors is packed too, and padded with zeros;
 *      of A  │▒││  │░░│  │ │      of C only the columns that exist are touched.
 *            └─┘└──┴──┴──┴─┘
 *
 * No path rounds differently than another: an element is one chain of multiply-adds over k, carried from step to
 * step in C itself. So its bits do not depend on blocks, and blocks follow from the sizes alone. */
#include "kernels/gemm.h"
#include "base/pool.h"
#include "kernels/gemm_pack.h"
#include "kernels/vector_math.h"

enum {
    STEP = 512,      /* of k: a strip of A then fills less than half of a first-level cache */
    PACKED_KB = 512, /* of B, packed in a step: half of a second-level cache of 1 MB */
    PACKED = PACKED_KB * 1024 / sizeof(real),
    GRAIN = 1 << 18, /* multiply-adds worth a chunk: a few microseconds */
    MOST_CHUNKS = 32,
};

/* Memory of each thread's own for packed operands. Being static, it cannot fail to be had, and it takes real
 * memory only where it has been used. */
static _Thread_local _Alignas(64) real packed_panels[PACKED];
static _Thread_local _Alignas(64) real packed_strip[STEP * (TILE_ROWS + LANES)];

/* How a product is cut. */
typedef struct Plan {
    const Gemm *g;
    long row_blocks, column_blocks, batch; /* a chunk is a block of one product of the batch */
    long panels, steps;                    /* across n and k */
    bool pack_a, pack_b;
} Plan;

static long ceil_div(long a, long b) {
    return (a + b - 1) / b;
}

/* A small product goes to few threads, in as large chunks as that leaves; a large one is cut finely, so that none
 * waits long for the last chunk. */
static double blocks_wanted(double work) {
    double grains = work / GRAIN;
    if (grains <= 4) return grains;
    return grains <= 16 ? 4 : grains <= 4 * MOST_CHUNKS ? grains / 4 : MOST_CHUNKS;
}

static Plan make_plan(const Gemm *g) {
    Plan plan = {g, 1, 1, g->batch > 1 ? g->batch : 1, ceil_div(g->n, PANEL), 1, false, g->layout == GEMM_NT};
    if (g->m <= 64 && g->n <= 64 && g->k <= 64 && plan.batch == 1) return plan;

    plan.steps = g->k > STEP ? ceil_div(g->k, STEP) : 1;
    /* Copying a number of B costs as much as a few multiply-adds; reading it where it is costs nothing while B fits
     * into the cache. */
    plan.pack_b |= g->m >= 128 && g->n * g->k >= 2 * PACKED;
    plan.pack_a = plan.pack_b && g->n >= 512 && g->lda * (long)sizeof(real) % 4096 == 0;
    if (plan.pack_b) {
        long fitting = PACKED / PANEL / ceil_div(g->k > 0 ? g->k : 1, plan.steps);
        plan.column_blocks = ceil_div(plan.panels, fitting);
    }
    /* What a block packs is shared among its rows, or columns: it must have many. */
    long fewest_rows = plan.pack_b ? 384 : 96, fewest_columns = plan.pack_a ? 256 : 2 * PANEL;
    double wanted = blocks_wanted((double)g->m * (double)g->n * (double)g->k * (double)plan.batch);
    while (2.0 * (double)(plan.row_blocks * plan.column_blocks * plan.batch) <= wanted) {
        long rows = g->m / (plan.row_blocks * fewest_rows);
        long columns = g->n / (plan.column_blocks * fewest_columns);
        if (rows < 2 && columns < 2) break;
        if (rows > columns)
            plan.row_blocks *= 2;
        else
            plan.column_blocks *= 2;
    }
    return plan;
}

/* Columns of B over k rows, as the tile reads them: `count` panels, each `apart` numbers after the one before, and
 * perhaps a narrower one at the right edge. */
typedef struct Panels {
    const real *whole, *edge;
    long count, apart, ldb;
    long edge_vectors, edge_last, edge_ldb; /* edge_vectors is 0 where there is none */
} Panels;

/* Panels of the k×width part of B that starts at b (transposed: stored width×k). They lie in place or, if
 * `packed`, in scratch, which has room for k rows of whole vectors. An edge of partial vectors is packed in any
 * case, so that the tile can read whole ones. */
static Panels make_panels(const real *b, long ldb, bool transposed, bool packed, long k, long width,
                          real *scratch) {
    long edge = width % PANEL, whole = width - edge;
    long step = transposed ? ldb : 1; /* from one column to the next */
    Panels panels = {b, b + whole * step, whole / PANEL, PANEL, ldb, .edge_ldb = ldb};
    void (*copy)(real *, const real *, long, long, long) = transposed ? pack_transposed : pack;
    if (packed) {
        panels.whole = scratch, panels.apart = PANEL * k, panels.ldb = PANEL;
        for (long j = 0; j < whole; j += PANEL, scratch += PANEL * k)
            copy(scratch, b + j * step, ldb, k, PANEL);
    }
    if (edge > 0) {
        panels.edge_vectors = pack_vectors(edge);
        panels.edge_last = edge - (panels.edge_vectors - 1) * LANES;
        if (packed || panels.edge_last != LANES) {
            copy(scratch, b + whole * step, ldb, k, edge);
            panels.edge = scratch, panels.edge_ldb = panels.edge_vectors * LANES;
        }
    }
    return panels;
}

static void activate(Activation activation, real x[LANES]) {
    if (activation == ACT_RELU)
        for (int l = 0; l < LANES; l++) x[l] = x[l] < 0 ? 0 : x[l]; /* NaN stays */
    if (activation == ACT_GELU)
        for (int l = 0; l < LANES; l++) x[l] = vm_gelu(x[l]);
}

/* The epilogue, for `rows` by `columns` of C from c[at] on, which is in column `column`, while they are in the
 * cache. */
static void finish(const Gemm *g, long at, long column, long rows, long columns) {
    bool keep = g->before && g->activation != ACT_NONE;
    for (long i = 0; i < rows; i++, at += g->ldc)
        for (long j = 0; j < columns; j += LANES) {
            long count = columns - j < LANES ? columns - j : LANES;
            Vector v = vector_load_part(g->c + at + j, count);
            if (g->bias) v += vector_load_part(g->bias + column + j, count);
            if (keep) vector_store_part(g->before + at + j, v, count);
            real x[LANES];
            vector_store(x, v);
            activate(g->activation, x);
            vector_store_part(g->c + at + j, vector_load(x), count);
        }
}

/* A strip of `rows` rows of A meets all panels. */
static void multiply_strip(TileOperand operand, long rows, long k, const real *a, long lda, const Panels *b,
                           real *c, long ldc, bool accumulate) {
    Tile *tile = gemm_tile[operand][TILE_VECTORS - 1][rows - 1];
    const real *panel = b->whole;
    for (long q = 0; q < b->count; q++, panel += b->apart, c += PANEL)
        tile(k, a, lda, panel, b->ldb, c, ldc, LANES, accumulate);
    if (b->edge_vectors > 0) {
        tile = gemm_tile[operand][b->edge_vectors - 1][rows - 1];
        tile(k, a, lda, b->edge, b->edge_ldb, c, ldc, b->edge_last, accumulate);
    }
}

/* Rows [i, i + m) and columns [j, j + n) of one product of the batch. */
static void multiply_block(const Plan *plan, long product, long i, long m, long j, long n) {
    const Gemm *g = plan->g;
    bool a_turned = g->layout == GEMM_TN, b_turned = g->layout == GEMM_NT;
    const real *a = g->a + product * g->stride_a + (a_turned ? i : i * g->lda);
    const real *b = g->b + product * g->stride_b + (b_turned ? j * g->ldb : j);
    long corner = product * g->stride_c + i * g->ldc + j;
    long strips = ceil_div(m, TILE_ROWS), height = m / strips, higher = m % strips;

    for (long step = 0, p = 0, k; step < plan->steps; step++, p += k) {
        k = plan->steps == 1 ? g->k : g->k * (step + 1) / plan->steps - p;
        bool accumulate = g->accumulate || step > 0, last = step + 1 == plan->steps;
        Panels panels =
            make_panels(b + (b_turned ? p : p * g->ldb), g->ldb, b_turned, plan->pack_b, k, n, packed_panels);
        const real *strip = a + (a_turned ? p * g->lda : p);
        long at = corner;
        for (long s = 0, rows; s < strips;
             s++, strip += a_turned ? rows : rows * g->lda, at += rows * g->ldc) {
            rows = height + (s < higher);
            if (plan->pack_a) {
                (a_turned ? pack : pack_transposed)(packed_strip, strip, g->lda, k, rows);
                multiply_strip(A_BY_COLUMNS, rows, k, packed_strip, pack_vectors(rows) * LANES, &panels,
                               g->c + at, g->ldc, accumulate);
            } else {
                multiply_strip(a_turned ? A_BY_COLUMNS : A_BY_ROWS, rows, k, strip, g->lda, &panels,
                               g->c + at, g->ldc, accumulate);
            }
            if (last && (g->bias || g->activation != ACT_NONE)) finish(g, at, j, rows, n);
        }
    }
}

static void multiply_chunk(void *context, long chunk) {
    const Plan *plan = context;
    const Gemm *g = plan->g;
    long row = chunk % plan->row_blocks, column = chunk / plan->row_blocks % plan->column_blocks;
    long product = chunk / plan->row_blocks / plan->column_blocks;
    long i = g->m * row / plan->row_blocks, i_end = g->m * (row + 1) / plan->row_blocks;
    long j = plan->panels * column / plan->column_blocks * PANEL;
    long j_end = plan->panels * (column + 1) / plan->column_blocks * PANEL;
    multiply_block(plan, product, i, i_end - i, j, (j_end < g->n ? j_end : g->n) - j);
}

void gemm(const Gemm *g) {
    if (g->m <= 0 || g->n <= 0) return;
    Plan plan = make_plan(g);
    long blocks = plan.row_blocks * plan.column_blocks * plan.batch;
    if (blocks == 1)
        multiply_block(&plan, 0, 0, g->m, 0, g->n);
    else
        parallel_for(blocks, multiply_chunk, &plan);
}
