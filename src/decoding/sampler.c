/* Chooses a token from scores. */
#include "base/random.h"
#include "decoding/decode.h"
#include "kernels/arrays.h"
#include <math.h>

/* The k-th highest score: the least that the k likeliest tokens have. Repeatedly finds the next lower score,
 * as k is small. */
static real threshold(const real *scores, long count, long k) {
    real bound = INFINITY;
    for (long taken = 0; taken < k;) {
        real next = -INFINITY;
        long equal = 0;
        for (long i = 0; i < count; i++) {
            if (scores[i] >= bound || scores[i] < next) continue;
            equal = scores[i] > next ? 1 : equal + 1;
            next = scores[i];
        }
        if (equal == 0) break;
        bound = next;
        taken += equal;
    }
    return bound;
}

bool decode_check_scores(const real *scores, long count, Error *e) {
    for (long i = 0; i < count; i++)
        if (!isfinite(scores[i]))
            return error_set(e, STATUS_BAD_DATA,
                             "the model: found a score of %g for token %ld, need a finite number",
                             (double)scores[i], i);
    return true;
}

long decode_choose(const Sampler *s, const real *scores, long count, uint64_t sequence, uint64_t position) {
    long best = kernel_argmax(count, scores);
    if (s->temperature <= 0) return best;
    real least = s->top_k > 0 && s->top_k < count ? threshold(scores, count, s->top_k) : -INFINITY;
    double sum = 0;
    for (long i = 0; i < count; i++)
        if (scores[i] >= least) sum += exp((double)(scores[i] - scores[best]) / s->temperature);
    double left =
        sum * (double)random_uniform(random_key(random_key(s->seed, STREAM_SAMPLES), sequence), position);
    for (long i = 0; i < count; i++) {
        if (!(scores[i] >= least)) continue;
        left -= exp((double)(scores[i] - scores[best]) / s->temperature);
        if (left < 0) return i;
    }
    return best;
}
