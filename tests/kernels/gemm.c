/* The fast matrix product against gemm_plain, and its promises about bits. */
#include "base/pool.h"
#include "base/random.h"
#include "expect_bug.h"
#include "kernels/product.h"

static const char *const layout_name[] = {"NN", "NT", "TN"};

/* Random numbers in memory that ends with the last of them, so that a sanitizer sees an access
 * beyond. */
static real *numbers(long count, uint64_t stream) {
    real *x = malloc((size_t)(count > 0 ? count : 1) * sizeof *x);
    if (!x) exit(71);
    uint64_t key = random_key(7, stream);
    for (long i = 0; i < count; i++) x[i] = random_uniform(key, (uint64_t)i) - (real)0.5;
    return x;
}

/* Operands of a product, with at least `gap` unused numbers between stored rows. */
typedef struct Case {
    Gemm g;
    real *a, *b, *c, *kept, *bias, *c_start;
    long c_count;
} Case;

static long span(long rows, long columns, long ld) {
    return rows > 0 && columns > 0 ? (rows - 1) * ld + columns : 0;
}

static Case make_case(GemmLayout layout, long m, long n, long k, long gap, long batch) {
    Case t = {.g = {.layout = layout, .m = m, .n = n, .k = k, .batch = batch}};
    Gemm *g = &t.g;
    long rows_a = layout == GEMM_TN ? k : m, columns_a = layout == GEMM_TN ? m : k;
    long rows_b = layout == GEMM_NT ? n : k, columns_b = layout == GEMM_NT ? k : n;
    g->lda = columns_a + gap;
    g->ldb = columns_b + 2 * gap;
    g->ldc = n + 3 * gap;
    g->stride_a = span(rows_a, columns_a, g->lda) + gap;
    g->stride_b = span(rows_b, columns_b, g->ldb) + gap;
    g->stride_c = m * g->ldc + gap;
    long more = batch > 1 ? batch - 1 : 0;
    t.c_count = more * g->stride_c + span(m, n, g->ldc);
    g->a = t.a = numbers(more * g->stride_a + span(rows_a, columns_a, g->lda), 1);
    g->b = t.b = numbers(more * g->stride_b + span(rows_b, columns_b, g->ldb), 2);
    g->c = t.c = numbers(t.c_count, 3);
    t.c_start = numbers(t.c_count, 3);
    t.kept = numbers(t.c_count, 4);
    t.bias = numbers(n, 5);
    return t;
}

static void free_case(Case *t) {
    free(t->a);
    free(t->b);
    free(t->c);
    free(t->c_start);
    free(t->kept);
    free(t->bias);
}

static void check_close(const Gemm *g, const char *what, const real *found, const real *want,
                        long count) {
    double limit = (8 + 0.3 * (double)g->k) * REAL_EPSILON;
    for (long i = 0; i < count; i++) {
        double error = fabs((double)(found[i] - want[i]));
        CHECK(error <= limit, "%s %ldx%ldx%ld %s[%ld] is off by %.3g", layout_name[g->layout], g->m,
              g->n, g->k, what, i, error);
    }
}

/* Compares all of C with gemm_plain's, also the numbers between its rows, which no product writes.
 * A sanitizer sees no more in large plain products than in small ones. */
static void check_values(const Case *t) {
    if (SANITIZER && t->g.m * t->g.n * t->g.k > 1000000) return;
    Gemm plain = t->g;
    real *kept = numbers(t->c_count, 4);
    plain.c = t->c_start;
    if (plain.pre_activation) plain.pre_activation = kept;
    for (long q = 0; q == 0 || q < plain.batch; q++) {
        gemm_plain(&plain);
        plain.a += plain.stride_a;
        plain.b += plain.stride_b;
        plain.c += plain.stride_c;
        if (plain.pre_activation) plain.pre_activation += plain.stride_c;
    }
    check_close(&t->g, "C", t->c, t->c_start, t->c_count);
    check_close(&t->g, "pre_activation", t->kept, kept, t->c_count);
    free(kept);
}

static void run_case(GemmLayout layout, long m, long n, long k, long gap, long batch,
                     bool accumulate, bool bias, Activation activation, bool keep) {
    Case t = make_case(layout, m, n, k, gap, batch);
    t.g.accumulate = accumulate;
    t.g.activation = activation;
    if (bias) t.g.bias = t.bias;
    if (keep) t.g.pre_activation = t.kept;
    gemm(&t.g);
    check_values(&t);
    free_case(&t);
}

TEST(every_small_size) {
    for (GemmLayout layout = GEMM_NN; layout <= GEMM_TN; layout++)
        for (long m = 0; m <= 40; m++)
            for (long n = 0; n <= 40; n++) {
                long k = (m * 7 + n * 3) % 41;
                run_case(layout, m, n, k, 0, 1, false, false, ACT_NONE, false);
                run_case(layout, n, m, 40 - k, 3, 1, true, false, ACT_NONE, false);
            }
}

/* Sizes around the edges of tiles, panels, steps and blocks. */
TEST(sizes_around_every_edge) {
    static const long sizes[][3] = {
        {13, 31, 511},   {14, 32, 512}, {15, 33, 513},   {29, 65, 1025},
        {1, 300, 70},    {300, 1, 70},  {97, 129, 1},    {200, 520, 600},
        {260, 40, 1030}, {5, 700, 513}, {193, 700, 400}, {400, 257, 1024},
        {1, 1, 3000},    {70, 36, 200}, {64, 18, 128},   {100, 19, 300}};
    for (GemmLayout layout = GEMM_NN; layout <= GEMM_TN; layout++)
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
            for (long gap = 0; gap <= 5; gap += 5)
                run_case(layout, sizes[s][0], sizes[s][1], sizes[s][2], gap, 1, gap > 0, false,
                         ACT_NONE, false);
}

TEST(epilogues) {
    static const long sizes[][3] = {{1, 1, 1},     {3, 17, 5},  {14, 32, 16},
                                    {30, 65, 600}, {70, 11, 0}, {200, 300, 40}};
    for (GemmLayout layout = GEMM_NN; layout <= GEMM_TN; layout++)
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
            for (int options = 0; options < 24; options++)
                run_case(layout, sizes[s][0], sizes[s][1], sizes[s][2], options % 3, 1, options & 1,
                         options & 2, (Activation)(options / 4 % 3),
                         options >= 12 && options / 4 % 3 > 0);
}

TEST(batches) {
    for (GemmLayout layout = GEMM_NN; layout <= GEMM_TN; layout++)
        for (long batch = 0; batch <= 5; batch++) {
            run_case(layout, 7, 9, 11, 0, batch, false, false, ACT_NONE, false);
            run_case(layout, 16, 40, 8, 2, batch, true, true, ACT_RELU, true);
            run_case(layout, 150, 130, 60, 1, batch, false, true, ACT_GELU, true);
            run_case(layout, 33, 30, 20, 1, batch, false, true, ACT_SILU, true);
        }
}

/* A product of zeros is not skipped: NaN and infinity in an operand reach C. */
TEST(not_a_number_is_passed_on) {
    for (GemmLayout layout = GEMM_NN; layout <= GEMM_TN; layout++) {
        Case t = make_case(layout, 20, 20, 20, 0, 1);
        for (int i = 0; i < 400; i++) t.a[i] = 0;
        t.b[0] = (real)NAN;
        t.g.activation = ACT_RELU;
        gemm(&t.g);
        CHECK(isnan(t.c[0]), "%s: 0 · NaN gave %g", layout_name[layout], (double)t.c[0]);
        t.b[0] = (real)INFINITY;
        gemm(&t.g);
        CHECK(isnan(t.c[0]), "%s: 0 · ∞ gave %g", layout_name[layout], (double)t.c[0]);
        free_case(&t);
    }
}

TEST(bits_do_not_depend_on_threads) {
    static const long sizes[][4] = {{128, 128, 128, 1},  {300, 500, 700, 1}, {1000, 65, 129, 1},
                                    {100, 1025, 513, 1}, {70, 4129, 132, 1}, {33, 47, 30, 64}};
    static const int threads[] = {2, 3, 4, 8};
    for (GemmLayout layout = GEMM_NN; layout <= GEMM_TN; layout++)
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
            Case one = make_case(layout, sizes[s][0], sizes[s][1], sizes[s][2], 1, sizes[s][3]);
            one.g.bias = one.bias;
            one.g.activation = ACT_GELU;
            one.g.pre_activation = one.kept;
            pool_set_threads(1);
            gemm(&one.g);
            for (int i = SANITIZER ? 3 : 0; i < 4; i++) {
                Case many =
                    make_case(layout, sizes[s][0], sizes[s][1], sizes[s][2], 1, sizes[s][3]);
                many.g.bias = many.bias;
                many.g.activation = ACT_GELU;
                many.g.pre_activation = many.kept;
                pool_set_threads(threads[i]);
                gemm(&many.g);
                size_t bytes = (size_t)one.c_count * sizeof(real);
                CHECK(memcmp(one.c, many.c, bytes) == 0, "%s: %d threads", layout_name[layout],
                      threads[i]);
                CHECK(memcmp(one.kept, many.kept, bytes) == 0, "%s: %d threads",
                      layout_name[layout], threads[i]);
                free_case(&many);
            }
            free_case(&one);
        }
}

#ifndef BLAS /* a library keeps no such promises */
/* An element is the same whether it lies in the middle of a large product or at the edge of a small
 * one. */
TEST(bits_do_not_depend_on_the_place) {
    enum { M = 131, N = 81, K = 600 };
    for (GemmLayout layout = GEMM_NN; layout <= GEMM_TN; layout++) {
        Case whole = make_case(layout, M, N, K, 0, 1);
        whole.g.bias = whole.bias;
        whole.g.activation = ACT_GELU;
        gemm(&whole.g);
        for (int trial = 0; trial < 60; trial++) {
            long i = trial * 7 % M, j = trial * 11 % N, m = 1 + trial * 5 % (M - i),
                 n = 1 + trial * 3 % (N - j);
            Gemm part = whole.g;
            part.m = m;
            part.n = n;
            part.a += layout == GEMM_TN ? i : i * part.lda;
            part.b += layout == GEMM_NT ? j * part.ldb : j;
            part.bias += j;
            real *c = numbers(m * n, 9);
            part.c = c;
            part.ldc = n;
            gemm(&part);
            for (long row = 0; row < m; row++)
                CHECK(memcmp(c + row * n, whole.c + (i + row) * N + j, (size_t)n * sizeof *c) == 0,
                      "%s: row %ld of %ldx%ld from [%ld,%ld]", layout_name[layout], row, m, n, i,
                      j);
            free(c);
        }
        free_case(&whole);
    }
}

/* One chain over k: two products that accumulate, over the halves of k, give the bits of the whole.
 */
TEST(bits_of_a_sum_in_two_parts) {
    for (long k = 2; k <= 1500; k = k * 3 + 1) {
        Case whole = make_case(GEMM_NN, 20, 50, k, 0, 1),
             parts = make_case(GEMM_NN, 20, 50, k, 0, 1);
        gemm(&whole.g);
        Gemm part = parts.g;
        part.k = k / 3;
        gemm(&part);
        part.a += k / 3;
        part.b += k / 3 * part.ldb;
        part.k = k - k / 3;
        part.accumulate = true;
        gemm(&part);
        CHECK(memcmp(whole.c, parts.c, 1000 * sizeof(real)) == 0, "k = %ld", k);
        free_case(&whole);
        free_case(&parts);
    }
}

/* A packed B gives the bits of the same B in place, for any number of rows and threads, and reads
 * no other. */
TEST(packing_changes_no_bit) {
    static const long rows[] = {1, 2, 5, 64};
    for (long n = 1; n <= 700; n = n * 2 + 1)
        for (int i = 0; i < 16; i++) {
            long m = rows[i % 4], k = i < 8 ? 37 : 600;
            Case placed = make_case(GEMM_NT, m, n, k, 0, 1),
                 packed = make_case(GEMM_NT, m, n, k, 0, 1);
            Case *both[] = {&placed, &packed};
            for (int c = 0; c < 2; c++) {
                both[c]->g.accumulate = i & 4;
                both[c]->g.bias = both[c]->bias;
                both[c]->g.activation = i & 1 ? ACT_GELU : ACT_NONE;
                if (i & 1) both[c]->g.pre_activation = both[c]->kept;
            }
            real *b = aligned_alloc(64, (size_t)gemm_packed_count(n, k) * sizeof *b);
            if (!b) exit(71);
            gemm_pack(n, k, packed.b, b);
            packed.g.packed = b;
            packed.g.b = NULL;
            pool_set_threads(1);
            gemm(&placed.g);
            pool_set_threads(1 + i % 3);
            gemm(&packed.g);
            size_t bytes = (size_t)placed.c_count * sizeof(real);
            CHECK(memcmp(placed.c, packed.c, bytes) == 0, "%ldx%ldx%ld: C", m, n, k);
            CHECK(memcmp(placed.kept, packed.kept, bytes) == 0, "%ldx%ldx%ld: pre_activation", m, n,
                  k);
            free(b);
            free_case(&placed);
            free_case(&packed);
        }
}

#endif

/* Every size that does not fit. */
TEST(misfits_are_bugs) {
    real x[6] = {0};
    Matrix wide = matrix_of(x, 2, 3), tall = matrix_of(x, 3, 2);
    EXPECT_BUG("product: 2x3 times 3x2 into 3x2", product_nn(wide, tall, tall, false));
    EXPECT_BUG("product: 2x3 times 3x2 into 2x3", product_nn(wide, tall, wide, false));
    EXPECT_BUG("product: 2x3 times 2x3 into 2x3", product_nn(wide, wide, wide, false));
    EXPECT_BUG("product: 2x3 times 2x3ᵀ into 2x3", product_nt(wide, wide, wide, false));
    EXPECT_BUG("product: 3x2ᵀ times 2x3 into 2x3", product_tn(tall, wide, wide, false));
}

RUN_TESTS
