/* n-grams: values by hand, and letters that depend on the fifth before. numpy_ngrams.py counts real
 * texts and random ones. */
#include "text/ngram.h"
#include "base/random.h"
#include "test.h"
#include <math.h>

static size_t bytes;

/* Training a b a b, judged a b: 2 characters. P_0 = 1/2. Order 1: N = 4, K = 2: P(a) = P(b) = (2 +
 * 2/2) / 6 = 1/2. Order 2: a begins without context: 1/2. b after a: N(a) = 2, K(a) = 1, (2 + 1/2)
 * / 3 = 5/6. Longer contexts than judged has change nothing. */
TEST(losses_by_hand) {
    static const uint32_t training[] = {'a', 'b', 'a', 'b'};
    double loss[NGRAM_ORDER + 1];
    Error e = {0};
    CHECK(ngram_losses(training, 4, training, 2, loss, &bytes, &e), "%s", e.text);
    for (int n = 0; n < 2; n++) CHECK_NEAR(loss[n], log(2), 1e-15);
    for (int n = 2; n <= NGRAM_ORDER; n++) CHECK_NEAR(loss[n], (log(2) + log(6. / 5)) / 2, 1e-15);
    /* c is not in training: P_0 = 1/3, order 1: (0 + 2/3) / 6 = 1/9. After c nothing is known: a
     * has (2 + 2/3) / 6. */
    CHECK(ngram_losses(training, 4, (const uint32_t[]){'c', 'a'}, 2, loss, &bytes, &e), "%s",
          e.text);
    CHECK_NEAR(loss[0], log(3), 1e-15);
    for (int n = 1; n <= NGRAM_ORDER; n++) CHECK_NEAR(loss[n], (log(9) + log(9. / 4)) / 2, 1e-15);
    CHECK(ngram_losses(training, 0, training, 4, loss, &bytes, &e), "%s",
          e.text); /* nothing to count */
    for (int n = 0; n <= NGRAM_ORDER; n++) CHECK_NEAR(loss[n], log(2), 1e-15);
}

RUN_TESTS
