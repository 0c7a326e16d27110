/* The fast matrix product: it computes what gemm_plain.c computes.
 *
 *            n           C is computed in phases: all rows, some columns, one step of k. A phase
 *      ┌─────┬─────┬──┐    - packs its part of B into panels, PANEL columns wide, if that pays;
 *      │     │     │  │    - cuts its part of C into blocks. In a block a strip, up to TILE_ROWS
 *    m ├─────┼─────┼──┤      rows of A, stays in the first-level cache and meets one panel after
 *      │     │░░░░░│  │      another.
 *      └─────┴─────┴──┘  Packing and blocks are chunks of work for the thread pool.
 *
 *               panels of B    A strip meets a panel: gemm_tile computes a tile of C in registers.
 *               ┌──┬──┬──┬─┐
 *               │  │▒▒│  │ │   Large products also pack A, a few strips at a time. These meet the
 *               └──┴──┴──┴─┘   panels in rounds of as many panels as fit into the second-level
 *     strip  ┌─┐┌──┬──┬──┬─┐   cache. Packed operands are dense; rows a power of two apart would
 *      of A  │▒││  │░░│  │ │   share a few sets of a cache. Small products read A and B in place.
 *            └─┘└──┴──┴──┴─┘   The panel at the right edge is padded with zeros.
 *
 * gemm_row.c computes a product of a single row.
 *
 * All paths round alike: an element is one chain of multiply-adds over k, continued from phase to
 * phase in C. So its bits depend neither on blocks nor on cache sizes. README.md gives the
 * measurement behind each threshold. */
#include "kernels/gemm.h"
#include "base/error.h"
#include "base/pool.h"
#include "base/work.h"
#include "kernels/gemm_parts.h"
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

enum {
    MAX_STEP = 512,                      /* longest step of k */
    STRIP = STRIP_WIDTH * MAX_STEP,      /* numbers of a packed strip, at most */
    STRIPS = 4,                          /* strips packed at a time */
    PACKED = 2048 * 1024 / sizeof(real), /* numbers of B packed in a phase, at most */
    ROUND = 256 * 1024 / sizeof(real),   /* numbers of B that stay in the second-level cache */
    GRAIN = 1 << 18,                     /* multiply-adds worth a chunk: a few microseconds */
    PACKING = 1 << 15,                   /* numbers to pack worth a chunk */
    MAX_CHUNKS = 32,
    WIDE_CHUNK = 1 << 14, /* numbers of B from gemm_pack worth a chunk */
};

/* A thread's memory for packing: panels for the products that it calls, strips for the chunks that
 * it runs. */
typedef struct Packing {
    _Alignas(64) real panels[PACKED];
    real strips[STRIPS * STRIP];
} Packing;

static pthread_key_t packing_key;

static void make_key(void) {
    if (pthread_key_create(&packing_key, free))
        error_bug("gemm: no key is left for a thread's memory");
}

/* The calling thread's, allocated by its first call and freed at its end. */
static Packing *packing(void) {
    static _Thread_local Packing *memory;
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    if (memory) return memory;
    pthread_once(&once, make_key);
    memory = aligned_alloc(64, sizeof *memory);
    if (!memory || pthread_setspecific(packing_key, memory))
        error_no_memory("%zu bytes for packed operands", sizeof *memory);
    return memory;
}

/* All rows of C, columns [j, j + n), and a step of k; a, b and c point to the first element of
 * their part. */
typedef struct Phase {
    const Gemm *g;
    const real *a, *b;
    real *c;
    long j, n, k;
    bool accumulate, last, pack_a, pack_b;
    real *packed;       /* the panels if B is packed */
    const real *panels; /* the first panel, packed or in B */
    long apart,
        ld; /* numbers from one panel to the next, and from one row of a panel to the next */
    long count, round; /* panels of the phase, and of a round */
    long packing_chunks, row_blocks, column_blocks;
} Phase;

static long ceil_div(long a, long b) {
    return (a + b - 1) / b;
}

static long min(long a, long b) {
    return a < b ? a : b;
}

/* Start of part `part` when `total` is cut into `parts` of nearly equal size. The first line saves
 * a division, which small products would notice. */
static long cut(long total, long part, long parts) {
    if (part == 0) return 0;
    return part == parts ? total : total * part / parts;
}

/* The distance between rows of A. */
static long row_step(const Gemm *g) {
    return g->layout == GEMM_TN ? 1 : g->lda;
}

/* Packs a share of the panels: some panels if B is transposed, else some rows of all panels. */
static void pack_chunk(void *phase, long chunk) {
    const Phase *f = phase;
    long chunks = f->packing_chunks, ldb = f->g->ldb;
    if (f->g->layout != GEMM_NT) {
        long p = cut(f->k, chunk, chunks), p_end = cut(f->k, chunk + 1, chunks);
        pack_panels(f->packed + p * PANEL, f->apart, f->b + p * ldb, ldb, p_end - p, f->n,
                    f->count);
        return;
    }
    for (long q = cut(f->count, chunk, chunks); q < cut(f->count, chunk + 1, chunks); q++)
        pack_transposed(f->packed + q * f->apart, PANEL, f->b + q * PANEL * ldb, ldb, f->k,
                        min(PANEL, f->n - q * PANEL));
}

/* Computes rows [i, i + rows) of C from one strip and the panels [first, end). */
static void multiply_strip(const Phase *f, Strip *a, long i, long rows, long first, long end) {
    const Gemm *g = f->g;
    const real *b = f->panels + first * f->apart;
    real *start = f->c + i * g->ldc + first * PANEL, *c = start;
    long whole = min(end, f->n / PANEL);
    Tile *tile = gemm_tile[f->pack_a][TILE_VECTORS - 1][rows - 1];
    for (long q = first; q < whole; q++) {
        a->next = q + 1 < end ? c + PANEL : start + rows * g->ldc;
        tile(f->k, a, b, f->ld, c, g->ldc, LANES, f->accumulate);
        b += f->apart;
        c += PANEL;
    }
    if (end > whole) {
        long width = f->n - whole * PANEL, vectors = ceil_div(width, LANES);
        gemm_tile[f->pack_a][vectors - 1][rows - 1](f->k, a, b, f->ld, c, g->ldc,
                                                    width - (vectors - 1) * LANES, f->accumulate);
    }
    if (f->last && (g->bias || g->activation != ACT_NONE)) {
        long column = first * PANEL, columns = end < f->count ? end * PANEL : f->n;
        gemm_epilogue(g, f->c + i * g->ldc + column - g->c, f->j + column, rows, columns - column);
    }
}

/* Computes rows [i, i + m) of C from the panels [first, end), with A in place. */
static void multiply_in_place(const Phase *f, long i, long m, long first, long end) {
    Strip a = {f->a + i * row_step(f->g), row_step(f->g), f->g->layout == GEMM_TN ? f->g->lda : 1,
               NULL};
    while (m > 0) {
        long rows = m < SHORT_ROWS ? m : SHORT_ROWS;
        if (m > SHORT_ROWS && m < 2 * SHORT_ROWS) rows = (m + 1) / 2;
        multiply_strip(f, &a, i, rows, first, end);
        m -= rows;
        i += rows;
        a.at += rows * a.row;
    }
}

/* The same with packed strips. */
static void multiply_packed(const Phase *f, long i, long m, long first, long end) {
    const Gemm *g = f->g;
    real *strips = packing()->strips;
    long height = ceil_div(m, ceil_div(m, TILE_ROWS));
    while (m > 0) {
        long rows = min(STRIPS * height, m), count = ceil_div(rows, height);
        pack_strips(strips, STRIP, g->layout == GEMM_TN, f->a + i * row_step(g), g->lda, f->k,
                    g->m - i, height, count);
        for (long q = first; q < end; q += f->round)
            for (long s = 0; s < count; s++) {
                Strip a = {strips + s * STRIP, 1, STRIP_WIDTH, NULL};
                long row = s * height;
                multiply_strip(f, &a, i + row, min(height, rows - row), q, min(q + f->round, end));
            }
        m -= rows;
        i += rows;
    }
}

/* A packed block is a multiple of TILE_ROWS high, except the last. */
static void multiply_chunk(void *phase, long chunk) {
    const Phase *f = phase;
    long row = chunk % f->row_blocks, column = chunk / f->row_blocks, m = f->g->m;
    long unit = f->pack_a ? TILE_ROWS : 1, units = ceil_div(m, unit);
    long i = unit * cut(units, row, f->row_blocks),
         i_end = min(unit * cut(units, row + 1, f->row_blocks), m);
    long first = cut(f->count, column, f->column_blocks),
         end = cut(f->count, column + 1, f->column_blocks);
    (f->pack_a ? multiply_packed : multiply_in_place)(f, i, i_end - i, first, end);
}

/* A small product is cut into few chunks, as each costs a few microseconds; a large one into many,
 * so that no thread waits long for the last chunk. */
static double blocks_wanted(double work) {
    double grains = work / GRAIN;
    if (grains <= 4) return grains;
    if (grains <= 16) return 4;
    return grains <= 4 * MAX_CHUNKS ? grains / 4 : MAX_CHUNKS;
}

/* With packed strips a block has all columns if there are enough rows for that: then each strip is
 * packed once. The number of blocks is a multiple of the threads. */
static void cut_blocks(Phase *f) {
    enum { PACKED_ROWS = 8 * TILE_ROWS, FEWEST_ROWS = 96 };
    long threads = pool_threads(), m = f->g->m, fewest_columns = f->pack_a ? 8 * PANEL : 2 * PANEL;
    f->row_blocks = f->column_blocks = 1;
    if (m <= 64 && f->n <= 64) return;
    if (f->pack_a && m >= threads * PACKED_ROWS / 2) {
        f->row_blocks = ceil_div(ceil_div(m, PACKED_ROWS), threads) * threads;
        return;
    }
    double wanted = blocks_wanted((double)m * (double)f->n * (double)f->k);
    while (2.0 * (double)(f->row_blocks * f->column_blocks) <= wanted) {
        long rows = m / (f->row_blocks * FEWEST_ROWS),
             columns = f->n / (f->column_blocks * fewest_columns);
        if (rows < 2 && columns < 2) break;
        if (f->pack_a ? rows >= 2 : rows > columns)
            f->row_blocks *= 2;
        else
            f->column_blocks *= 2;
    }
}

static void run_phase(Phase *f) {
    f->count = ceil_div(f->n, PANEL);
    f->round = f->pack_a ? ceil_div(ROUND, PANEL * f->k) : f->count;
    f->panels = f->b;
    f->apart = PANEL;
    f->ld = f->g->ldb;
    if (f->pack_b) {
        f->panels = f->packed = packing()->panels;
        f->apart = PANEL * f->k;
        f->ld = PANEL;
        f->packing_chunks = min(f->n * f->k / PACKING + 1, MAX_CHUNKS);
        pool_for(f->packing_chunks, pack_chunk, f);
    }
    cut_blocks(f);
    if (f->row_blocks * f->column_blocks > 1)
        pool_for(f->row_blocks * f->column_blocks, multiply_chunk, f);
    else
        (f->pack_a ? multiply_packed : multiply_in_place)(f, 0, f->g->m, 0, f->count);
}

/* An operand is packed if it is used often enough to pay for the copy. A read in place is slow at n
 * >= USES, or from USES_OF_COLUMNS on if A is transposed. B in place is slow if it is large, sooner
 * if many rows use it; a tile loads whole vectors of it. */
static void choose_packing(Phase *f) {
    const Gemm *g = f->g;
    enum { USES = 256, USES_OF_COLUMNS = 128, MANY_ROWS = 640, MANY = 1 << 15, LARGE = 1 << 18 };
    f->pack_a = g->m >= 64 && g->n >= (g->layout == GEMM_TN ? USES_OF_COLUMNS : USES) &&
                g->m * g->k >= MANY;
    f->pack_b = g->layout == GEMM_NT || g->n % LANES ||
                (g->m >= 128 && g->n * g->k >= (f->pack_a && g->m >= MANY_ROWS ? MANY : LARGE));
}

/* One product of the batch. */
static void multiply(void *gemm, long product) {
    const Gemm *g = gemm;
    const real *a = g->a + product * g->stride_a, *b = g->b + product * g->stride_b;
    real *c = g->c + product * g->stride_c;
    if (g->m == 1 && g->layout != GEMM_TN) {
        multiply_row(g, a, b, c);
        return;
    }
    Phase f = {.g = g};
    choose_packing(&f);
    long panels = ceil_div(g->n, PANEL), steps = g->k > 0 ? ceil_div(g->k, MAX_STEP) : 1, parts = 1;
    if (f.pack_b && panels * PANEL * g->k > PACKED)
        parts = ceil_div(panels, PACKED / PANEL / ceil_div(g->k, steps));
    for (long part = 0; part < parts; part++) {
        f.j = cut(panels, part, parts) * PANEL;
        f.n = min(cut(panels, part + 1, parts) * PANEL, g->n) - f.j;
        f.c = c + f.j;
        for (long step = 0; step < steps; step++) {
            long p = cut(g->k, step, steps);
            f.k = cut(g->k, step + 1, steps) - p;
            f.a = a + (g->layout == GEMM_TN ? p * g->lda : p);
            f.b = b + (g->layout == GEMM_NT ? f.j * g->ldb + p : f.j + p * g->ldb);
            f.accumulate = g->accumulate || step > 0;
            f.last = step + 1 == steps;
            run_phase(&f);
        }
    }
}

/* ---- B packed once, by gemm_pack ---- */

static long columns_of_chunk(const Gemm *g) {
    long panels = WIDE_CHUNK / (g->k + 1) / WIDE;
    return panels > 0 ? panels * WIDE : WIDE;
}

/* Each wide panel is the B of a product of its own. */
static void wide_chunk(void *product, long chunk) {
    const Gemm *g = product;
    Gemm part = *g;
    long columns = columns_of_chunk(g), begin = chunk * columns,
         end = chunk_end(begin, columns, g->n);
    part.layout = GEMM_NN;
    part.packed = NULL;
    part.ldb = WIDE;
    for (long j = begin; j < end; j += WIDE) {
        part.n = end - j < WIDE ? end - j : WIDE;
        part.b = g->packed + j * g->k;
        part.c = g->c + j;
        if (g->bias) part.bias = g->bias + j;
        if (g->pre_activation) part.pre_activation = g->pre_activation + j;
        gemm(&part);
    }
}

void gemm(const Gemm *g) {
    if (g->m <= 0 || g->n <= 0) return;
    void *product = (void *)(uintptr_t)g;
    if (g->packed) {
        pool_for(chunks_of(g->n, columns_of_chunk(g)), wide_chunk, product);
        return;
    }
    long batch = g->batch > 1 ? g->batch : 1;
    if (batch > 1 && (double)g->m * (double)g->n * (double)g->k <= 16.0 * GRAIN)
        pool_for(batch, multiply, product);
    else
        for (long i = 0; i < batch; i++) multiply(product, i);
}
