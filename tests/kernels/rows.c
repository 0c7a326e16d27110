/* Row reductions against sums in long double, over lengths that end inside, at and beyond lanes and
 * blocks.
 */
#include "kernels/rows.h"
#include "base/random.h"
#include "test.h"

enum { LONGEST = 5000 };
static const long lengths[] = {1,  2,   3,    7,    15,   16,   17,   31,   32,
                               33, 100, 1023, 1024, 1025, 1040, 2048, 4999, LONGEST};
enum { LENGTHS = sizeof lengths / sizeof *lengths };

static real x[LONGEST], y[LONGEST], out[LONGEST];

static void fill(real offset) {
    uint64_t key = random_key(1, 2);
    for (int i = 0; i < LONGEST; i++) {
        x[i] = offset + random_uniform(key, (uint64_t)(2 * i));
        y[i] = random_uniform(key, (uint64_t)(2 * i + 1)) - (real)0.5;
    }
}

TEST(sums_and_dots_are_accurate) {
    fill(-(real)0.25);
    for (int k = 0; k < LENGTHS; k++) {
        long double sum = 0, size = 0, dot = 0, dot_size = 0;
        for (long i = 0; i < lengths[k]; i++) {
            long double product = (long double)x[i] * y[i];
            sum += x[i];
            size += fabsl(x[i]);
            dot += product;
            dot_size += fabsl(product);
        }
        CHECK_NEAR(row_sum(x, lengths[k]), sum, 4 * REAL_EPSILON * (double)size);
        CHECK_NEAR(row_dot(x, y, lengths[k]), dot, 4 * REAL_EPSILON * (double)dot_size);
    }
    CHECK(row_sum(x, 0) == 0 && row_dot(x, y, 0) == 0, "empty rows");
}

/* A large mean must not eat the variance: the numbers lie in [100, 101), their variance is near
 * 1/12. */
TEST(variance_survives_a_large_mean) {
    fill(100);
    for (int k = 0; k < LENGTHS; k++) {
        long double mean = 0, variance = 0;
        for (long i = 0; i < lengths[k]; i++) mean += (long double)x[i] / lengths[k];
        for (long i = 0; i < lengths[k]; i++)
            variance += (x[i] - mean) * (x[i] - mean) / lengths[k];
        real m, v;
        row_moments(x, lengths[k], &m, &v);
        CHECK_NEAR(m, mean, 101 * REAL_EPSILON);
        CHECK_NEAR(v, variance, 100 * REAL_EPSILON);
    }
}

TEST(maximum_is_found_at_every_place) {
    for (int k = 0; k < LENGTHS; k++)
        for (long at = 0; at < lengths[k]; at++) {
            for (long i = 0; i < lengths[k]; i++) x[i] = -10;
            if (at < 3000 || at > lengths[k] - 20) x[at] = -1;
            real want = at < 3000 || at > lengths[k] - 20 ? -1 : -10;
            CHECK(row_max(x, lengths[k]) == want, "length %ld, largest at %ld", lengths[k], at);
            if (lengths[k] > 200) at += 37;
        }
    CHECK(row_max(x, 0) == -INFINITY, "empty row");
    for (int i = 0; i < 40; i++) x[i] = i == 17 || i == 35 ? NAN : -INFINITY;
    CHECK(row_max(x, 40) == -INFINITY, "NaN is passed over");
    x[3] = 5;
    CHECK(row_max(x, 40) == 5, "NaN is passed over");
}

TEST(exponentials_sum_to_the_same_bits_kept_or_not) {
    fill(0);
    for (int k = 0; k < LENGTHS; k++) {
        long double want = 0;
        for (long i = 0; i < lengths[k]; i++) want += expl((long double)x[i] - 1);
        real kept = row_exp(out, x, 1, lengths[k]), dropped = row_exp_sum(x, 1, lengths[k]);
        CHECK_NEAR(kept, want, 4 * REAL_EPSILON * (double)want);
        CHECK(kept == dropped, "%.9g and %.9g", (double)kept, (double)dropped);
        for (long i = 0; i < lengths[k]; i++)
            CHECK_NEAR(out[i], exp((double)x[i] - 1), 4 * REAL_EPSILON);
    }
}

RUN_TESTS
