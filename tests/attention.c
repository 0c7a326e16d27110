/* What attention hides has no effect, whatever it is: a NaN or an infinity in a later token reaches neither the values
 * nor the gradients of those that do not see it. */
#include "base/random.h"
#include "ops/ops.h"
#include "test.h"

enum { ROWS = 77, WIDTH = 24, HEADS = 3, BAD_ROW = 40, COUNT = ROWS * WIDTH, PARTS = 3 };
enum { Q, K, V };

typedef struct Outcome {
    real y[COUNT], d[PARTS][COUNT];
} Outcome;

/* Causal attention over one sequence. The number at (BAD_ROW, 5) of `part` is `bad`; part PARTS is the gradient of y. */
static void run(int part, real bad, Outcome *out) {
    static real data[PARTS + 1][COUNT];
    static const int32_t start[] = {0}, length[] = {ROWS};
    static const Sequences all = {1, start, length, length, ROWS, ROWS};
    for (int p = 0; p <= PARTS; p++)
        for (long i = 0; i < COUNT; i++)
            data[p][i] = (real)random_normal(random_key(5, (uint64_t)p), (uint64_t)i);
    if (part >= 0) data[part][BAD_ROW * WIDTH + 5] = bad;
    memset(out, 0, sizeof *out);
    Tape *t = tape_new();
    Tensor *x[PARTS];
    for (int p = 0; p < PARTS; p++) x[p] = tape_leaf(t, SHAPE(ROWS, WIDTH), data[p], out->d[p]);
    Tensor *y = tape_attention(t, x[Q], x[K], x[V], HEADS, &all, &all, true);
    memcpy(out->y, y->data, sizeof out->y);
    tape_backward_from(t, y, data[PARTS]);
    tape_free(t);
}

/* True if rows [first, end) have the same bits. */
static bool same(const real *a, const real *b, long first, long end) {
    return memcmp(a + first * WIDTH, b + first * WIDTH, (size_t)(end - first) * WIDTH * sizeof(real)) == 0;
}

/* As same, but for what adding queries one by one rounds otherwise. */
static bool nearly(const real *a, const real *b, long first, long end) {
    for (long i = first * WIDTH; i < end * WIDTH; i++)
        if (!(fabs((double)a[i] - (double)b[i]) <= 100 * REAL_EPSILON)) return false;
    return true;
}

static void hidden_numbers_have_no_effect(void) {
    static Outcome clean, found;
    run(-1, 0, &clean);
    const real bad[] = {(real)NAN, (real)INFINITY};
    for (int i = 0; i < 2; i++) {
        for (int part = Q; part <= V; part++) {
            run(part, bad[i], &found);
            CHECK(isnan(found.y[BAD_ROW * WIDTH + 5]) || !same(found.y, clean.y, BAD_ROW, ROWS), "part %d",
                  part);
            CHECK(same(found.y, clean.y, 0, BAD_ROW), "part %d: y before the row", part);
            CHECK(same(found.d[Q], clean.d[Q], 0, BAD_ROW), "part %d: dq before the row", part);
        }
        /* A query is read by its own row of y alone; the keys and values behind it never meet it. */
        run(Q, bad[i], &found);
        CHECK(same(found.y, clean.y, BAD_ROW + 1, ROWS), "y behind the query");
        CHECK(nearly(found.d[K], clean.d[K], BAD_ROW + 1, ROWS), "dk behind the query");
        CHECK(nearly(found.d[V], clean.d[V], BAD_ROW + 1, ROWS), "dv behind the query");
        run(PARTS, bad[i], &found);
        CHECK(same(found.d[Q], clean.d[Q], 0, BAD_ROW) && same(found.d[Q], clean.d[Q], BAD_ROW + 1, ROWS),
              "dq of other rows than the gradient's");
        CHECK(nearly(found.d[K], clean.d[K], BAD_ROW + 1, ROWS), "dk behind the gradient");
        CHECK(nearly(found.d[V], clean.d[V], BAD_ROW + 1, ROWS), "dv behind the gradient");
    }
}

TEST_MAIN({"hidden numbers have no effect", hidden_numbers_have_no_effect})
