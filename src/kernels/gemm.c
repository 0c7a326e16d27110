/* The matrix product.
 *
 *            n                       C is cut into blocks, one a chunk of work for the thread pool. A block
 * goes ┌─────┬─────┬──┐              through k in steps of at most STEP; in each step it │     │     │  │ -
 * packs, where that pays, its part of B into panels of PANEL columns, which m ├─────┼─────┼──┤ then lie one
 * after another in the second-level cache; │     │░░░░░│  │                - takes a strip of up to TILE_ROWS
 * rows of A, which stays in the first-level └─────┴─────┴──┘                  cache, and meets it with one
 * panel after another:
 *
 *      a block, its panels and            each meeting is a tile of C, which gemm_tile computes in registers.
 *      a strip:   ┌──┬──┬──┬──┐
 *                 │▒▒│  │  │  │      Small products read B and A where they are: the rows of a panel and the
 *                 │──│──│──│──│      columns of a strip are then far apart, which only large matrices mind.
 *                 └──┴──┴──┴──┘
 *
 * A partial panel at the right edge is packed too and padded with zeros, so the tile always computes whole
 * vectors; of C only the columns that exist are touched. No path is slower or rounds differently than
 * another: each element is one chain of multiply-adds over k, carried from step to step in C itself. */
#include "kernels/gemm.h"
#include "base/pool.h"
#include "kernels/gemm_pack.h"
#include "kernels/gemm_tile.h"
#include "kernels/vector_math.h"
#include <string.h>

enum {
    STEP = 512,               /* k of one step: a strip of A fills half of a 48 KB first-level cache */
    PACKED_BYTES = 512 << 10, /* of B in one step: half of a 1 MB second-level cache */
    PACKED = PACKED_BYTES / sizeof(real),
    STRIP_WIDTH = (TILE_ROWS + LANES - 1) / LANES * LANES,
};

/* Memory of each thread's own for packed operands. Being static, it costs no allocation that could fail, and
 * it takes real memory only where it has been used. */
static _Thread_local _Alignas(64) real packed_panels[PACKED], packed_strip[STEP * STRIP_WIDTH];

/* How a product is cut, by its sizes alone. */
typedef struct Plan {
    long row_blocks, column_blocks, batch;
    long panels, steps;
    bool pack_a, pack_b;
} Plan;

static long ceil_div(long a, long b) {
    return (a + b - 1) / b;
}

static Plan make_plan(const Gemm *g) {
    Plan plan = {.batch = g->batch > 1 ? g->batch : 1, .panels = ceil_div(g->n, PANEL), .row_blocks = 1};
    plan.steps = g->k > STEP ? ceil_div(g->k, STEP) : 1;
    long step = ceil_div(g->k, plan.steps);
    plan.pack_b = g->layout == GEMM_NT || (g->m >= 192 && g->n * g->k > 1 << 18);
    plan.pack_a = g->n >= 256 && ((g->layout == GEMM_TN && g->m * g->k > 1 << 18) ||
                                  g->lda * (long)sizeof(real) % 4096 == 0);
    long most = PACKED / PANEL / (step > 0 ? step : 1); /* panels that fit */
    plan.column_blocks = plan.pack_b ? ceil_div(plan.panels, most) : 1;

    double work = (double)g->m * (double)g->n * (double)g->k;
    double chunks = work * (double)plan.batch / (1 << 20);
    if (chunks < 1) {
        return plan;
    }
    if (chunks > 32) chunks = 32;
    while ((double)(plan.row_blocks * plan.column_blocks * plan.batch) < chunks) {
        long rows = g->m / plan.row_blocks, columns = g->n / plan.column_blocks;
        if (rows > columns && rows >= 2 * TILE_ROWS)
            plan.row_blocks *= 2;
        else if (columns >= 2 * PANEL)
            plan.column_blocks *= 2;
        else
            break;
    }
    return plan;
}

static void activate(Activation activation, real x[LANES]) {
    if (activation == ACT_RELU)
        for (int l = 0; l < LANES; l++) x[l] = x[l] < 0 ? 0 : x[l]; /* NaN stays */
    if (activation == ACT_GELU)
        for (int l = 0; l < LANES; l++) x[l] = vm_gelu(x[l]);
}

/* The epilogue, for rows [i, i_end) and columns [j, j_end) of one product. */
static void finish(const Gemm *g, real *c, real *before, long i, long i_end, long j, long j_end) {
    for (; i < i_end; i++)
        for (long at = j; at < j_end; at += LANES) {
            long count = j_end - at < LANES ? j_end - at : LANES;
            Vector v = vector_load_part(c + i * g->ldc + at, count);
            if (g->bias) v += vector_load_part(g->bias + at, count);
            if (g->activation && before) vector_store_part(before + i * g->ldc + at, v, count);
            real x[LANES];
            vector_store(x, v);
            activate(g->activation, x);
            vector_store_part(c + i * g->ldc + at, vector_load(x), count);
        }
}

/* Columns [j, j_end) of B over rows [p, p_end), as the tile reads them. */
typedef struct Panel {
    const real *b;
    long ldb;
} Panel;

static Panel find_panel(const Gemm *g, const Plan *plan, const real *b, long p, long p_end, long j0, long j,
                        long j_end, bool pack) {
    long width = j_end - j < PANEL ? j_end - j : PANEL, k = p_end - p;
    if (!plan->pack_b && width % LANES == 0) return (Panel){b + p * g->ldb + j, g->ldb};
    Panel panel = {packed_panels + (plan->pack_b ? (j - j0) * k : 0), pack_vectors(width) * LANES};
    if (pack) {
        if (g->layout == GEMM_NT)
            pack_panel_transposed((real *)panel.b, b + j * g->ldb + p, g->ldb, k, width);
        else
            pack_panel((real *)panel.b, b + p * g->ldb + j, g->ldb, k, width);
    }
    return panel;
}

static void multiply_block(const Gemm *g, const Plan *plan, long batch, long i0, long i_end, long j0,
                           long j_end) {
    const real *a = g->a + batch * g->stride_a, *b = g->b + batch * g->stride_b;
    real *c = g->c + batch * g->stride_c, *before = g->before ? g->before + batch * g->stride_c : NULL;
    long strips = ceil_div(i_end - i0, TILE_ROWS);
    for (long s = 0; s < plan->steps; s++) {
        long p = g->k * s / plan->steps, p_end = g->k * (s + 1) / plan->steps, k = p_end - p;
        for (long j = j0; j < j_end; j += PANEL) find_panel(g, plan, b, p, p_end, j0, j, j_end, true);
        for (long strip = 0, i = i0; strip < strips; strip++) {
            long next = i0 + (i_end - i0) * (strip + 1) / strips, rows = next - i;
            TileOperand operand = g->layout == GEMM_TN ? A_BY_COLUMNS : A_BY_ROWS;
            const real *from = operand == A_BY_COLUMNS ? a + p * g->lda + i : a + i * g->lda + p;
            long lda = g->lda;
            if (plan->pack_a) {
                if (operand == A_BY_COLUMNS)
                    pack_panel(packed_strip, from, lda, k, rows);
                else
                    pack_panel_transposed(packed_strip, from, lda, k, rows);
                from = packed_strip, lda = pack_vectors(rows) * LANES, operand = A_BY_COLUMNS;
            }
            for (long j = j0; j < j_end; j += PANEL) {
                long width = j_end - j < PANEL ? j_end - j : PANEL, vectors = pack_vectors(width);
                Panel panel = find_panel(g, plan, b, p, p_end, j0, j, j_end, false);
                gemm_tile[operand][vectors - 1][rows - 1](
                    k, from, lda, panel.b, panel.ldb, c + i * g->ldc + j, g->ldc,
                    width - (vectors - 1) * LANES, g->accumulate || s > 0);
            }
            if (s + 1 == plan->steps && (g->bias || g->activation)) finish(g, c, before, i, next, j0, j_end);
            i = next;
        }
    }
}

typedef struct Work {
    const Gemm *g;
    Plan plan;
} Work;

static void multiply_chunk(void *context, long chunk) {
    const Work *work = context;
    const Plan *plan = &work->plan;
    const Gemm *g = work->g;
    long row = chunk % plan->row_blocks, column = chunk / plan->row_blocks % plan->column_blocks;
    long batch = chunk / plan->row_blocks / plan->column_blocks;
    long j = plan->panels * column / plan->column_blocks * PANEL;
    long j_end = plan->panels * (column + 1) / plan->column_blocks * PANEL;
    multiply_block(g, plan, batch, g->m * row / plan->row_blocks, g->m * (row + 1) / plan->row_blocks, j,
                   j_end < g->n ? j_end : g->n);
}

void gemm(const Gemm *g) {
    if (g->m == 0 || g->n == 0) return;
    Work work = {g, make_plan(g)};
    parallel_for(work.plan.row_blocks * work.plan.column_blocks * work.plan.batch, multiply_chunk, &work);
}
