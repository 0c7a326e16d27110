/* The entropies that a run compares its loss with. */
#include "run/samples.h"
#include "base/random.h"
#include "task_helpers.h"
#include "text/corpus.h"

static void check_entropies(const uint16_t *ids, long count, long V, double unigram, double bigram,
                            double tolerance) {
    Error e = {0};
    double found[2];
    CHECK(samples_entropies(ids, count, V, &found[0], &found[1], &e), "%s", e.text);
    CHECK_NEAR(found[0], unigram, tolerance);
    CHECK_NEAR(found[1], bigram, tolerance);
}

/* Values from the definition, worked out by hand or in closed form. */
TEST(entropies_by_hand) {
    /* a b a b: half and half, and each decides the next: log 2 and 0. */
    static const uint16_t abab[] = {0, 1, 0, 1};
    check_entropies(abab, 4, 2, 0.69314718055994531, 0, 1e-15);
    /* a a b a b: p(a) = 3/5. Pairs aa ab ba ab: three after a, of which 1/3 a and 2/3 b, and one after b. */
    static const uint16_t aabab[] = {0, 0, 1, 0, 1};
    check_entropies(aabab, 5, 2, 0.67301166700925644, 0.4773856262211097, 1e-15);
    /* abracadabra: a 5, b 2, r 2, c 1, d 1 of 11. Pairs: after a b·2 c d, after b r·2, after r a·2, after c
     * a, d a: 4/10 · 3/2 log 2. */
    static const uint16_t abracadabra[] = {0, 1, 2, 0, 3, 0, 4, 0, 1, 2, 0};
    check_entropies(abracadabra, 11, 5, 1.4142790651247086, 0.41588830833596718, 1e-15);
    check_entropies(abab, 0, 2, 0, 0, 0);
    check_entropies(abab, 1, 2, 0, 0, 0);
}

/* A de Bruijn sequence of order 2 has every pair once: both entropies are log V. A random text against tables
 * counted the plain way. */
TEST(entropies_in_closed_form_and_by_plain_counting) {
    enum { V = 12, N = 5000 };
    uint16_t ids[N];
    long count = 0;
    for (uint16_t a = 0; a < V; a++) {
        ids[count++] = a;
        for (uint16_t b = (uint16_t)(a + 1); b < V; b++) ids[count++] = a, ids[count++] = b;
    }
    ids[count++] = 0; /* as often as the others, but for the last */
    double others = (double)V / (V * V + 1), first = (double)(V + 1) / (V * V + 1);
    check_entropies(ids, V * V + 1, V, -first * log(first) - (V - 1) * others * log(others), log(V), 1e-14);

    uint64_t key = random_key(8, 0);
    static double n[V + 1], pairs[V][V], from[V];
    ids[0] = 0;
    for (int i = 1; i < N; i++) { /* a walk of short steps, so that the two differ */
        ids[i] = (uint16_t)((ids[i - 1] + random_below(key, (uint64_t)i, 1 + i % 5)) % V);
        pairs[ids[i - 1]][ids[i]]++, from[ids[i - 1]]++;
    }
    for (int i = 0; i < N; i++) n[ids[i]]++;
    double unigram = 0, bigram = 0;
    for (int a = 0; a < V; a++) {
        unigram -= n[a] / N * log(n[a] / N);
        for (int b = 0; b < V; b++)
            if (pairs[a][b] > 0) bigram -= pairs[a][b] / (N - 1) * log(pairs[a][b] / from[a]);
    }
    check_entropies(ids, N, V + 1, unigram, bigram, 1e-12); /* one id never occurs */
    CHECK(bigram < unigram - 0.3);
}

/* As ten lines of Python count. */
TEST(entropies_of_the_chronicle) {
    Task *task = opened("lm", task_defaults());
    const Corpus *c = task_text_corpus(task);
    check_entropies(c->ids, c->count, task->vocab_size, 2.986, 2.145, 0.001);
    task_free(task);
}

RUN_TESTS
