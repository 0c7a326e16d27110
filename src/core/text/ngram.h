/* Models of characters that count: n-grams, interpolated as Witten and Bell do (IEEE Transactions
 * on Information Theory 37(4), 1991). The model of order n predicts the character c after the n-1
 * characters h:
 *
 *     P_n(c|h) = (N(hc) + K(h) P_n-1(c|h')) / (N(h) + K(h)),        P_0 = 1 / different characters
 *
 * N(hc): times that c follows h in the training text, N(h): that any character does, K(h):
 * different characters that do, h': h without its first character. A context that never occurred
 * leaves P_n-1. */
#pragma once

#include "base/error.h"
#include <stddef.h>
#include <stdint.h>

enum { NGRAM_ORDER = 5 };

/* The mean of -log P_n over the characters of judged, for n = 0 to NGRAM_ORDER, in nats a
 * character. Their contexts begin with judged. count > 0. Sets *bytes to the peak memory of the
 * tables. STATUS_NO_MEMORY. */
bool ngram_losses(const uint32_t *training, long trained, const uint32_t *judged, long count,
                  double loss[NGRAM_ORDER + 1], size_t *bytes, Error *e);
