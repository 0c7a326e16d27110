/* The fast matrix product: it computes what gemm_plain.c computes.
 *
 *            n               C is computed in phases: all rows, some columns, one step of k. A phase
 *      ┌─────┬─────┬──┐        - packs its part of B into panels, PANEL columns wide, if that pays;
 *      │     │     │  │        - cuts its part of C into blocks. In a block a strip, up to TILE_ROWS
 *    m ├─────┼─────┼──┤          rows of A, stays in the first-level cache and meets one panel after
 *      │     │░░░░░│  │          another.
 *      └─────┴─────┴──┘      Packing and blocks are chunks of work for the thread pool.
 *
 *               panels of B       A strip meets a panel: gemm_tile computes a tile of C in registers.
 *               ┌──┬──┬──┬─┐
 *               │  │▒▒│  │ │      Large products also pack A, a few strips at a time. These meet the
 *               └──┴──┴──┴─┘      panels in rounds of as many panels as fit into the second-level
 *     strip  ┌─┐┌──┬──┬──┬─┐      cache. Packed operands are dense; rows a power of two apart would
 *      of A  │▒││  │░░│  │ │      share a few sets of a cache. Small products read A and B in place.
 *            └─┘└──┴──┴──┴─┘      The panel at the right edge is padded with zeros.
 *
 * gemm_row.c computes a product of a single row.
 *
 * All paths round alike: an element is one chain of multiply-adds over k, continued from phase to phase in
 * C. So its bits depend neither on blocks nor on cache sizes. README.md gives the measurement behind each
 * threshold. */
#include "kernels/gemm.h"
#include "base/pool.h"
#include "base/system.h"
#include "kernels/gemm_parts.h"
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

enum {
    SHORT_STEP = 128,                    /* shortest step of k, if k is longer */
    MOST_STEP = 512,                     /* longest step of k */
    STRIP = STRIP_WIDTH * MOST_STEP,     /* numbers of a packed strip, at most */
    STRIPS = 8,                          /* strips packed at a time */
    PACKED = 2048 * 1024 / sizeof(real), /* numbers of B packed in a phase, at most */
    GRAIN = 1 << 18,                     /* multiply-adds worth a chunk: a few microseconds */
    PACKING = 1 << 15,                   /* numbers to pack worth a chunk */
    MOST_CHUNKS = 32,
};

/* A thread's memory for packing: panels for the products that it calls, strips for the chunks that it
 * runs. */
typedef struct Packing {
    _Alignas(64) real panels[PACKED];
    real strips[STRIPS * STRIP];
} Packing;

static Packing *packing(void) {
    return pack_memory(sizeof(Packing));
}

/* B's part of a phase as the tile reads it: `whole` panels from `at` on, `apart` numbers apart, and at the
 * right edge perhaps a narrower one. */
typedef struct Panels {
    const real *at, *edge;
    long whole, apart, ld;
    long edge_vectors, edge_last, edge_ld; /* vectors of the edge panel (0: none), lanes of the last one */
    real *
        packed; /* destination of packed panels: all of them with pack_b, else the edge; NULL: all lie in B */
} Panels;

/* All rows of C, columns [j, j + n), and a step of k; a, b and c point to the first element of their part. */
typedef struct Phase {
    const Gemm *g;
    const real *a, *b;
    real *c;
    long j, n, k;
    bool accumulate, last, pack_a, pack_b;
    Panels panels;
    long count, round; /* panels of the phase, and of a round */
    long packing_chunks, row_blocks, column_blocks;
} Phase;

static long ceil_div(long a, long b) {
    return (a + b - 1) / b;
}

static long least(long a, long b) {
    return a < b ? a : b;
}

/* Start of part `part` when `total` is cut into `parts` of nearly equal size. The first line saves a
 * division, which small products would notice. */
static long cut(long total, long part, long parts) {
    if (part == 0) return 0;
    return part == parts ? total : total * part / parts;
}

/* The distance between rows of A, and between columns of B. */
static long row_step(const Gemm *g) {
    return g->layout == GEMM_TN ? 1 : g->lda;
}

static long column_step(const Gemm *g) {
    return g->layout == GEMM_NT ? g->ldb : 1;
}

static void lay_panels(Phase *f) {
    Panels *b = &f->panels;
    long edge = f->n % PANEL, ld = f->g->ldb;
    *b = (Panels){.at = f->b, .whole = f->n / PANEL, .apart = PANEL, .ld = ld};
    if (f->pack_b) b->at = b->packed = packing()->panels, b->apart = PANEL * f->k, b->ld = PANEL;
    f->count = b->whole + (edge > 0);
    if (edge == 0) return;
    b->edge = b->at + b->whole * b->apart, b->edge_ld = b->ld;
    b->edge_vectors = pack_vectors(edge);
    b->edge_last = edge - (b->edge_vectors - 1) * LANES;
    if (b->edge_last != LANES && !f->pack_b) b->edge = b->packed = packing()->panels, b->edge_ld = PANEL;
}

/* Packs a share of the panels: some panels if B is transposed, else some rows of all panels. */
static void pack_chunk(void *phase, long chunk) {
    const Phase *f = phase;
    const Panels *to = &f->panels;
    long chunks = f->packing_chunks, ldb = f->g->ldb, q = f->pack_b ? 0 : to->whole;
    if (f->g->layout != GEMM_NT) {
        long p = cut(f->k, chunk, chunks), p_end = cut(f->k, chunk + 1, chunks);
        pack_panels(to->packed + p * PANEL, to->apart, f->b + q * PANEL + p * ldb, ldb, p_end - p,
                    f->n - q * PANEL, f->count - q);
        return;
    }
    for (q = cut(f->count, chunk, chunks); q < cut(f->count, chunk + 1, chunks); q++)
        pack_transposed(to->packed + q * to->apart, PANEL, f->b + q * PANEL * ldb, ldb, f->k,
                        least(PANEL, f->n - q * PANEL));
}

/* Computes rows [i, i + rows) of C from one strip and the panels [first, end). */
static void multiply_strip(const Phase *f, Strip *a, long i, long rows, long first, long end) {
    const Gemm *g = f->g;
    const Panels *panels = &f->panels;
    const real *b = panels->at + first * panels->apart;
    real *start = f->c + i * g->ldc + first * PANEL, *c = start;
    Tile *tile = gemm_tile[f->pack_a][TILE_VECTORS - 1][rows - 1];
    for (long q = first; q < least(end, panels->whole); q++, b += panels->apart, c += PANEL) {
        a->next = q + 1 < end ? c + PANEL : start + rows * g->ldc;
        tile(f->k, a, b, panels->ld, c, g->ldc, LANES, f->accumulate);
    }
    if (end > panels->whole)
        gemm_tile[f->pack_a][panels->edge_vectors - 1][rows - 1](f->k, a, panels->edge, panels->edge_ld, c,
                                                                 g->ldc, panels->edge_last, f->accumulate);
    if (f->last && (g->bias || g->activation != ACT_NONE)) {
        long column = first * PANEL, columns = end < f->count ? end * PANEL : f->n;
        gemm_epilogue(g, f->c + i * g->ldc + column - g->c, f->j + column, rows, columns - column);
    }
}

/* Computes rows [i, i + m) of C from the panels [first, end), with A in place. */
static void multiply_in_place(const Phase *f, long i, long m, long first, long end) {
    Strip a = {f->a + i * row_step(f->g), row_step(f->g), f->g->layout == GEMM_TN ? f->g->lda : 1, NULL};
    for (long rows; m > 0; m -= rows, i += rows, a.at += rows * a.row) {
        rows = m <= SHORT_ROWS ? m : m < 2 * SHORT_ROWS ? (m + 1) / 2 : SHORT_ROWS;
        multiply_strip(f, &a, i, rows, first, end);
    }
}

/* The same with packed strips, at most STRIPS of them. */
static void multiply_packed(const Phase *f, long i, long m, long height, long first, long end) {
    const Gemm *g = f->g;
    PackedRows a = {packing()->strips, STRIP, m, height, ceil_div(m, height)};
    pack_strips(&a, g->layout == GEMM_TN, f->a + i * row_step(g), g->lda, f->k, g->m - i);
    for (long q = first; q < end; q += f->round)
        for (long s = 0, row = 0; s < a.strips; s++, row += height) {
            Strip strip = {a.strip + s * STRIP, 1, STRIP_WIDTH, NULL};
            multiply_strip(f, &strip, i + row, least(height, m - row), q, least(q + f->round, end));
        }
}

/* Computes rows [i, i + m) of C from the panels [first, end). */
static void multiply_block(const Phase *f, long i, long m, long first, long end) {
    if (!f->pack_a) {
        multiply_in_place(f, i, m, first, end);
        return;
    }
    /* If all panels fit into the second-level cache, fewer strips are packed at a time, so that more of
     * them stay in the first-level cache. */
    long height = ceil_div(m, ceil_div(m, TILE_ROWS)), strips = ceil_div(m, height);
    long times = ceil_div(strips, f->count > f->round ? STRIPS : STRIPS / 2);
    for (long t = 0; t < times; t++) {
        long row = height * cut(strips, t, times), next = least(height * cut(strips, t + 1, times), m);
        multiply_packed(f, i + row, next - row, height, first, end);
    }
}

/* A packed block is a multiple of TILE_ROWS high, except the last. */
static void multiply_chunk(void *phase, long chunk) {
    const Phase *f = phase;
    long row = chunk % f->row_blocks, column = chunk / f->row_blocks, m = f->g->m;
    long unit = f->pack_a ? TILE_ROWS : 1, units = ceil_div(m, unit);
    long i = unit * cut(units, row, f->row_blocks),
         i_end = least(unit * cut(units, row + 1, f->row_blocks), m);
    multiply_block(f, i, i_end - i, cut(f->count, column, f->column_blocks),
                   cut(f->count, column + 1, f->column_blocks));
}

/* A small product is cut into few chunks, as each costs a few microseconds; a large one into many, so that
 * no thread waits long for the last chunk. */
static double blocks_wanted(double work) {
    double grains = work / GRAIN;
    if (grains <= 4) return grains;
    return grains <= 16 ? 4 : grains <= 4 * MOST_CHUNKS ? grains / 4 : MOST_CHUNKS;
}

/* With packed strips a block has all columns if there are enough rows for that: then each strip is packed
 * once. The number of blocks is a multiple of the threads. */
static void cut_blocks(Phase *f) {
    enum { PACKED_ROWS = STRIPS * TILE_ROWS, FEWEST_ROWS = 96 };
    long threads = pool_threads(), m = f->g->m, fewest_columns = f->pack_a ? 8 * PANEL : 2 * PANEL;
    f->row_blocks = f->column_blocks = 1;
    if (m <= 64 && f->n <= 64) return;
    if (f->pack_a && m >= threads * PACKED_ROWS / 2) {
        f->row_blocks = ceil_div(ceil_div(m, PACKED_ROWS), threads) * threads;
        return;
    }
    double wanted = blocks_wanted((double)m * (double)f->n * (double)f->k);
    while (2.0 * (double)(f->row_blocks * f->column_blocks) <= wanted) {
        long rows = m / (f->row_blocks * FEWEST_ROWS), columns = f->n / (f->column_blocks * fewest_columns);
        if (rows < 2 && columns < 2) break;
        if (f->pack_a ? rows >= 2 : rows > columns)
            f->row_blocks *= 2;
        else
            f->column_blocks *= 2;
    }
}

/* The system's report, or a common size if that is missing or implausible. */
static long second_level_cache(void) {
    static atomic_long bytes;
    long found = bytes;
    if (found) return found;
    found = system_cache();
    if (found < 128 * 1024 || found > 64 * 1024 * 1024) found = 256 * 1024;
    bytes = found;
    return found;
}

static void run_phase(Phase *f) {
    lay_panels(f);
    f->round = f->count;
    if (f->pack_a) f->round = ceil_div(second_level_cache() / 2, PANEL * f->k * (long)sizeof(real));
    f->packing_chunks = f->pack_b ? least(f->n * f->k / PACKING + 1, MOST_CHUNKS) : 1;
    if (f->packing_chunks > 1)
        pool_for(f->packing_chunks, pack_chunk, f);
    else if (f->panels.packed)
        pack_chunk(f, 0);
    cut_blocks(f);
    if (f->row_blocks * f->column_blocks > 1)
        pool_for(f->row_blocks * f->column_blocks, multiply_chunk, f);
    else
        multiply_block(f, 0, f->g->m, 0, f->count);
}

/* The longest step of k with which the packed strips fill at most a quarter of the second-level cache. */
static long longest_step(void) {
    long step = second_level_cache() / 4 / (STRIPS * STRIP_WIDTH * (long)sizeof(real));
    return step < SHORT_STEP ? SHORT_STEP : least(step, MOST_STEP);
}

/* An operand is packed if it is used often enough to pay for the copy. A read in place is slow at n >=
 * USES, or from USES_OF_COLUMNS on if A is transposed. B in place is slow sooner if its vectors cross
 * cache lines, if a panel's row is only one line, or if many rows use it. */
static void choose_packing(Phase *f) {
    const Gemm *g = f->g;
    enum { USES = 256, USES_OF_COLUMNS = 128, MANY_ROWS = 640 };
    enum {
        LINE = 64,
        MANY = 1 << 15,
        MANY_ACROSS_LINES = 1 << 12,
        MANY_LINES = 1 << 13,
        LARGE = 1 << 18
    }; /* numbers */
    f->pack_a = g->m >= 64 && g->n >= (g->layout == GEMM_TN ? USES_OF_COLUMNS : USES) && g->m * g->k >= MANY;
    long many = g->ldb % LANES                      ? MANY_ACROSS_LINES
                : PANEL * (int)sizeof(real) <= LINE ? MANY_LINES
                : f->pack_a && g->m >= MANY_ROWS    ? MANY
                                                    : LARGE;
    f->pack_b = g->layout == GEMM_NT || (g->m >= 128 && g->n * g->k >= many);
}

/* One product of the batch. */
static void multiply(const Gemm *g, long product) {
    const real *a = g->a + product * g->stride_a, *b = g->b + product * g->stride_b;
    real *c = g->c + product * g->stride_c;
    if (g->m == 1 && g->layout != GEMM_TN) {
        multiply_row(g, a, b, c);
        return;
    }
    Phase f = {.g = g};
    choose_packing(&f);
    long panels = ceil_div(g->n, PANEL), steps = g->k > SHORT_STEP ? ceil_div(g->k, longest_step()) : 1,
         parts = 1;
    if (f.pack_b && panels * PANEL * g->k > PACKED)
        parts = ceil_div(panels, PACKED / PANEL / ceil_div(g->k, steps));
    for (long part = 0; part < parts; part++) {
        f.j = cut(panels, part, parts) * PANEL;
        f.n = least(cut(panels, part + 1, parts) * PANEL, g->n) - f.j;
        f.c = c + f.j;
        for (long step = 0, p = 0; step < steps; step++, p += f.k) {
            f.k = cut(g->k, step + 1, steps) - p;
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
    if (g->packed) {
        multiply_packed_b(g);
        return;
    }
    long batch = g->batch > 1 ? g->batch : 1;
    if (batch > 1 && (double)g->m * (double)g->n * (double)g->k <= 16.0 * GRAIN)
        pool_for(batch, multiply_product, (void *)(uintptr_t)g);
    else
        for (long product = 0; product < batch; product++) multiply(g, product);
}
