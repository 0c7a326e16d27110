/* ./bench gemm: matrix products of the sizes of small Transformers. */
#include "base/arena.h"
#include "base/pool.h"
#include "base/random.h"
#include "bench/bench.h"
#include "kernels/gemm.h"

/* Cubes, attention heads, and the layers of the cases. */
static const struct Product {
    long m, n, k;
} products[] = {{16, 16, 16},     {32, 32, 32},      {64, 64, 64},      {128, 32, 32},
                {128, 128, 32},   {64, 64, 16},      {128, 128, 128},   {256, 256, 256},
                {1024, 384, 128}, {1024, 512, 128},  {1024, 128, 512},  {768, 65, 128},
                {720, 2048, 512}, {2048, 1536, 384}, {2048, 384, 1536}, {2048, 8192, 256},
                {512, 512, 512},  {1024, 1024, 1024}};
static const char *const layouts[] = {[GEMM_NN] = "NN", [GEMM_NT] = "NT", [GEMM_TN] = "TN"};
enum { PRODUCTS = sizeof products / sizeof *products, LAYOUTS = sizeof layouts / sizeof *layouts };

static void multiply(void *g) {
    gemm(g);
}

static real *random_matrix(Arena *a, long elements, uint64_t stream) {
    real *x = arena_alloc(a, (size_t)elements * sizeof *x);
    for (long i = 0; i < elements; i++)
        x[i] = random_uniform(random_key(1, stream), (uint64_t)i) - (real)0.5;
    return x;
}

static void measure(const struct Product *p, GemmLayout layout, real *a, real *b, real *c,
                    double peak, const BenchOptions *o) {
    Gemm g = {layout, p->m, p->n, p->k, a, b, c, .ldc = p->n};
    g.lda = layout == GEMM_TN ? p->m : p->k;
    g.ldb = layout == GEMM_NT ? p->k : p->n;
    Timing t = bench_time(multiply, &g, o->seconds / LAYOUTS, 5);
    double gigaflops = 2e-9 * (double)p->m * (double)p->n * (double)p->k;
    BENCH_PRINT(o, {"layout", layouts[layout]}, {"m", NULL, (double)p->m, 0},
                {"n", NULL, (double)p->n, 0}, {"k", NULL, (double)p->k, 0},
                {"gflops", NULL, gigaflops / t.best, 1},
                {"median_gflops", NULL, gigaflops / t.median, 1}, {"peak_gflops", NULL, peak, 1},
                {"threads", NULL, pool_threads(), 0});
}

bool bench_gemm(const char *name, const BenchOptions *o, Error *e) {
    if (name) return error_set(e, STATUS_USAGE, "gemm: found a second operand, need none");
    double peak = bench_peak_gflops(o->seconds) * pool_threads();
    for (int i = 0; i < PRODUCTS; i++) {
        const struct Product *p = &products[i];
        Arena arena = {0};
        real *a = random_matrix(&arena, p->m * p->k, 0), *b = random_matrix(&arena, p->k * p->n, 1),
             *c = random_matrix(&arena, p->m * p->n, 2);
        for (int layout = 0; layout < LAYOUTS; layout++)
            measure(p, (GemmLayout)layout, a, b, c, peak, o);
        arena_free(&arena);
    }
    return true;
}
