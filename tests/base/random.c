/* Random numbers: equal to an independent implementation, distributed as they say, and without ties
 * between streams. Everything is fixed by the seeds here, so a bound either holds for ever or
 * never; the bounds are five standard errors. */
#include "base/random.h"
#include "test.h"

enum { N = 1 << 20 };

/* Values from tests/fixtures/make_random.py; that both precisions meet them also says that they
 * draw the same. */
TEST(equals_the_reference) {
    static const struct {
        uint64_t seed, stream, position, key;
        uint32_t bits;
        double normal;
    } cases[] = {
        {0x0, 0x0, 0x0, 0xA706DD2F4D197E6F, 0xA935CF9C, -0.3982963049092389},
        {0x0, 0x0, 0x1, 0xA706DD2F4D197E6F, 0x527551D3, -0.73180196800129016},
        {0x1, 0x0, 0x0, 0x5E41AB087439611F, 0x4B77D82D, -0.005850939379080539},
        {0x0, 0x1, 0x0, 0x08B4FDA8C892B50F, 0x11527E18, 1.3379085486562818},
        {0x1, 0x7, 0x2DFDC1C35, 0x7716DA39CBA275B3, 0x5EA8A1D1, 1.7004697103276019},
        {UINT64_MAX, UINT64_MAX, UINT64_MAX, 0x6309143E67A47937, 0xFBDA45DC, 0.69784799543784193},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint64_t key = random_key(cases[i].seed, cases[i].stream);
        uint32_t bits = random_bits(key, cases[i].position);
        CHECK(key == cases[i].key, "case %zu", i);
        CHECK(bits == cases[i].bits, "case %zu", i);
        CHECK((double)random_uniform(key, cases[i].position) == (bits >> 8) / 16777216.0,
              "case %zu", i);
        CHECK(random_below(key, cases[i].position, 1000) == (long)(bits / 4294967296.0 * 1000),
              "case %zu", i);
        CHECK_NEAR(random_normal(key, cases[i].position), cases[i].normal, 1e-15);
    }
}

/* Sum of (found - want)² / want over `cells` equally likely cells; its mean is cells - 1, its
 * variance twice that. */
static void check_chi_square(const long *count, int cells, double total) {
    double want = total / cells, sum = 0;
    for (int i = 0; i < cells; i++)
        sum += ((double)count[i] - want) * ((double)count[i] - want) / want;
    CHECK_NEAR(sum, cells - 1, 5 * sqrt(2.0 * (cells - 1)));
}

TEST(uniform_is_uniform) {
    uint64_t key = random_key(1, 0);
    static long cell[4096], low_byte[256], pair[64 * 64];
    double sum = 0, squares = 0, last = 0, lagged = 0;
    for (uint64_t i = 0; i < N; i++) {
        double u = (double)random_uniform(key, i);
        CHECK(u >= 0 && u < 1, "found %g", u);
        cell[(int)(u * 4096)]++;
        low_byte[random_bits(key, i) & 255]++;
        if (i % 2) pair[(int)(last * 64) * 64 + (int)(u * 64)]++;
        sum += u;
        squares += u * u;
        lagged += (u - 0.5) * (last - 0.5);
        last = u;
    }
    CHECK_NEAR(sum / N, 0.5, 5 * sqrt(1 / 12.0 / N));
    CHECK_NEAR(squares / N, 1 / 3.0, 5 * sqrt(4 / 45.0 / N));
    CHECK_NEAR(lagged / N, 0, 5 * (1 / 12.0) / sqrt(N));
    check_chi_square(cell, 4096, N);
    check_chi_square(low_byte, 256, N);
    check_chi_square(pair, 64 * 64, N / 2);
}

/* Moments up to the fourth, the distribution function in 64 equally likely cells, and the two
 * tails. */
TEST(normal_is_normal) {
    uint64_t key = random_key(2, 0);
    static long cell[64];
    double moment[5] = {0}, lagged = 0, last = 0;
    long beyond_3 = 0;
    for (uint64_t i = 0; i < N; i++) {
        double x = random_normal(key, i), power = 1;
        CHECK(isfinite(x));
        for (int m = 0; m < 5; m++) {
            moment[m] += power / N;
            power *= x;
        }
        cell[(int)(0.5 * erfc(-x / sqrt(2)) * 64)]++;
        beyond_3 += fabs(x) > 3;
        lagged += x * last / N;
        last = x;
    }
    CHECK_NEAR(moment[1], 0, 5 / sqrt(N));
    CHECK_NEAR(moment[2], 1, 5 * sqrt(2.0 / N));
    CHECK_NEAR(moment[3], 0, 5 * sqrt(15.0 / N));
    CHECK_NEAR(moment[4], 3, 5 * sqrt(96.0 / N));
    CHECK_NEAR(lagged, 0, 5 / sqrt(N));
    check_chi_square(cell, 64, N);
    double p = erfc(3 / sqrt(2));
    CHECK_NEAR((double)beyond_3 / N, p, 5 * sqrt(p / N));
}

static int by_value(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

/* Small seeds and streams are what people type: their keys are odd and all different. */
TEST(streams_are_independent) {
    enum { SIDE = 256 };
    static uint64_t keys[SIDE * SIDE];
    for (uint64_t i = 0; i < SIDE * SIDE; i++) {
        keys[i] = random_key(i / SIDE, i % SIDE);
        CHECK(keys[i] % 2 == 1);
    }
    qsort(keys, SIDE * SIDE, sizeof *keys, by_value);
    for (int i = 1; i < SIDE * SIDE; i++)
        CHECK(keys[i] != keys[i - 1], "a key stands for two streams");
}

/* Every value below n appears, equally often, and none at n. */
TEST(below_stays_below) {
    uint64_t key = random_key(3, 0);
    for (long n = 1; n <= 100; n++) {
        long count[100] = {0};
        for (uint64_t i = 0; i < 10000; i++) {
            long x = random_below(key, i, n);
            CHECK(x >= 0 && x < n, "%ld below %ld", x, n);
            count[x]++;
        }
        if (n > 1) check_chi_square(count, (int)n, 10000);
    }
}

RUN_TESTS
