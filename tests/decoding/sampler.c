/* The sampler: how often each token is drawn against its probability, which the test computes from
 * the definitions of the filters, one token at a time. */
#include "decoding/decode.h"
#include "test.h"

enum { MAX_CHOICES = 40, DRAWS = 100000 };

static long choose(const Sampler *s, long count, const real *scores, uint64_t sequence, long n) {
    static const int32_t ids[DRAWS] = {0};
    double p[2 * MAX_CHOICES];
    return decode_choose(s, &(Scores){count, scores, ids, n}, sequence, p);
}

/* p_i ∝ e^(x_i/T), for the tokens that every filter keeps. Top-k keeps a token if fewer than k are
 * likelier; top-p, if those that are likelier, of the ones that top-k kept, have less than P of the
 * probability of these. */
static void probabilities(const Sampler *s, long count, const double *x, double *p) {
    double weight[MAX_CHOICES], largest = -INFINITY, kept = 0, sum = 0;
    bool among[MAX_CHOICES];
    for (long i = 0; i < count; i++) largest = fmax(largest, x[i]);
    for (long i = 0; i < count; i++) {
        long likelier = 0;
        for (long j = 0; j < count; j++) likelier += x[j] > x[i];
        weight[i] = exp((x[i] - largest) / s->temperature);
        among[i] = s->top_k == 0 || likelier < s->top_k;
        kept += among[i] ? weight[i] : 0;
    }
    for (long i = 0; i < count; i++) {
        double above = 0;
        for (long j = 0; j < count; j++) above += among[j] && x[j] > x[i] ? weight[j] : 0;
        bool keep = among[i] && (s->top_p == 0 || above < s->top_p * kept) && weight[i] >= s->min_p;
        sum += p[i] = keep ? weight[i] : 0;
    }
    for (long i = 0; i < count; i++) p[i] /= sum;
}

/* Pearson's chi-square of DRAWS draws. The bound is passed by one in 100,000 of right samplers;
 * seeds are fixed. */
static void check_frequencies(const char *what, Sampler s, long count, const real *scores,
                              const double *p) {
    enum { SEQUENCES = 4 };
    long times[MAX_CHOICES] = {0}, degrees = -1;
    double chi_square = 0;
    for (long i = 0; i < DRAWS; i++)
        times[choose(&s, count, scores, (uint64_t)(i % SEQUENCES), i / SEQUENCES)]++;
    for (long i = 0; i < count; i++) {
        double want = DRAWS * p[i];
        CHECK(want > 0 || times[i] == 0, "%s: token %ld, which is not kept, comes %ld times", what,
              i, times[i]);
        if (want < 5) continue; /* too rare for the approximation */
        chi_square += ((double)times[i] - want) * ((double)times[i] - want) / want;
        degrees++;
    }
    CHECK(chi_square < (double)degrees + 4.3 * sqrt(2 * (double)degrees) + 12,
          "%s: chi-square %g, %ld degrees", what, chi_square, degrees);
}

static void check_sampler(const char *what, Sampler s, long count, const real *scores) {
    double x[MAX_CHOICES] = {0}, p[MAX_CHOICES], found[2 * MAX_CHOICES];
    for (long i = 0; i < count; i++) x[i] = (double)scores[i];
    probabilities(&s, count, x, p);
    decode_probabilities(&s, &(Scores){count, scores, NULL, 0}, found);
    for (long i = 0; i < count; i++) CHECK(fabs(found[i] - p[i]) < 1e-12, "%s: token %ld", what, i);
    check_frequencies(what, s, count, scores, p);
}

static const real scores[] = {(real)0.5, -1, (real)2.25, 0, (real)2.25, -30, (real)1.5, 2};
static const real tied[] = {1, 2, 2, 1, 2, 0, 1};

TEST(sampling_frequencies_follow_the_softmax) {
    for (int i = 0; i < 4; i++) {
        double temperature = (double[]){0.1, 0.7, 1, 5}[i];
        check_sampler("all", (Sampler){.temperature = temperature, .seed = (uint64_t)i}, 8, scores);
    }
    check_sampler("a single token", (Sampler){.temperature = 1}, 1, scores);
}

/* Each filter alone, at its limits, between them and among equals, and all together. */
TEST(sampling_frequencies_follow_the_filters) {
    static const double shares[] = {1e-9, 0.2, 0.5, 0.75, 0.95, 1};
    char what[64];
    for (int i = 0; i < 6; i++) {
        double share = shares[i];
        long k = (long[]){1, 2, 3, 5, 8, 900}[i];
        for (int j = 0; j < 2; j++) {
            const real *x = j ? tied : scores;
            long count = j ? 7 : 8;
            snprintf(what, sizeof what, "share %g, k %ld, %s", share, k, j ? "equals" : "distinct");
            check_sampler(what, (Sampler){.temperature = 0.9, .top_k = k, .seed = 3}, count, x);
            check_sampler(what, (Sampler){.temperature = 1.5, .top_p = share, .seed = 4}, count, x);
            check_sampler(what, (Sampler){.temperature = 0.8, .min_p = share, .seed = 5}, count, x);
            Sampler all = {
                .temperature = 2, .top_k = k, .top_p = share, .min_p = share / 4, .seed = 6};
            check_sampler(what, all, count, x);
        }
    }
}

/* Scores of tokens that the text has become less likely, once each, whatever their sign; greedy
 * ones too. */
TEST(sampling_penalises_repetition) {
    static const real x[] = {2, -1, 1, (real)0.5};
    static const double penalised[] = {1, -2, 1, 0.5};
    static const int32_t text[] = {0, 1, 0, 0, 1};
    double want[4], p[8];
    Sampler s = {.temperature = 1, .repetition_penalty = 2};
    Scores c = {4, x, text, 5};
    probabilities(&s, 4, penalised, want);
    CHECK(decode_probabilities(&s, &c, p) == 0);
    for (int i = 0; i < 4; i++) CHECK_NEAR(p[i], want[i], 1e-12);
    s.repetition_penalty = 2.5;
    s.temperature = 0;
    CHECK(decode_choose(&s, &c, 0, p) == 2);
    s.repetition_penalty = 1;
    CHECK(decode_choose(&s, &c, 0, p) == 0);
}

/* Greedy decoding takes the likeliest token, the first of equals, whatever the seed and the
 * filters. */
TEST(sampling_temperature_0_is_greedy) {
    static const real x[] = {-5, 2, 7, 7, 1};
    for (long i = 0; i < 50; i++) {
        Sampler s = {.seed = (uint64_t)i, .top_k = i % 6};
        CHECK(choose(&s, 5, x, (uint64_t)i, 3 * i) == 2);
    }
}

/* Scores as large and temperatures as extreme as there are give no NaN: the likeliest at one end,
 * the uniform distribution at the other. */
TEST(sampling_extremes_hold) {
    static const real large[] = {(real)1e38, (real)-1e38, (real)9e37, (real)-1e38},
                      few[] = {2, 1, 0, 1};
    static const double first[] = {1, 0, 0, 0}, even[] = {0.25, 0.25, 0.25, 0.25};
    check_frequencies("large scores", (Sampler){.temperature = 1}, 4, large, first);
    check_frequencies("low temperature", (Sampler){.temperature = 1e-300}, 4, few, first);
    check_frequencies("high temperature", (Sampler){.temperature = 1e300}, 4, few, even);
    real infinite[] = {0, (real)-INFINITY, (real)-INFINITY, (real)-INFINITY};
    check_frequencies("impossible tokens", (Sampler){.temperature = 1}, 4, infinite, first);
    check_frequencies("impossible tokens", (Sampler){.temperature = 1, .top_k = 2}, 4, infinite,
                      first);
}

/* The same (seed, sequence, length) is the same draw; another seed, sequence or length is another.
 */
TEST(sampling_a_draw_is_a_function_of_seed_sequence_and_length) {
    static const real x[8] = {0};
    enum { TRIES = 4000 };
    int same[3] = {0};
    for (long i = 0; i < TRIES; i++) {
        Sampler s = {.temperature = 1, .seed = 5}, other = {.temperature = 1, .seed = 6};
        uint64_t sequence = (uint64_t)i % 10;
        long id = choose(&s, 8, x, sequence, i);
        CHECK(choose(&s, 8, x, sequence, i) == id);
        same[0] += choose(&other, 8, x, sequence, i) == id;
        same[1] += choose(&s, 8, x, sequence + 1, i) == id;
        same[2] += choose(&s, 8, x, sequence, i + 1) == id;
    }
    for (int i = 0; i < 3; i++)
        CHECK(same[i] > TRIES / 10 && same[i] < TRIES / 6.5, "%d of %d draws are the same", same[i],
              TRIES);
}

RUN_TESTS
