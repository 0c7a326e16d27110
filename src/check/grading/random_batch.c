#include "check/grading/random_batch.h"
#include "base/random.h"
#include <stddef.h>

static int32_t random_token(const ModelConfig *c, uint64_t key, uint64_t i) {
    long id = random_below(key, i, c->vocab_size - (c->pad_id != NO_PAD));
    return (int32_t)(id + (c->pad_id != NO_PAD && id >= c->pad_id));
}

void batch_random_tokens(const ModelConfig *c, uint64_t key, long n, int32_t *ids) {
    for (long i = 0; i < n; i++) ids[i] = random_token(c, key, (uint64_t)i);
}

PaddedBatch *batch_random(const ModelConfig *c, long rows, long S, long T, uint64_t seed, Error *e) {
    if (c->kind == KIND_LM) S = 0;
    PaddedBatch *b = batch_padded(rows, S, T, c->pad_id, e);
    if (!b) return NULL;
    uint64_t key = random_key(seed, STREAM_BATCH), lengths = random_key(key, 0);
    for (long r = 0; r < rows; r++) {
        bool longest = r == 0 || c->pad_id == NO_PAD;
        long s = S && !longest ? 1 + random_below(lengths, (uint64_t)(2 * r), S) : S;
        long t = !longest ? 1 + random_below(lengths, (uint64_t)(2 * r + 1), T) : T;
        batch_random_tokens(c, random_key(key, (uint64_t)(3 * r + 1)), s, b->source + r * S);
        batch_random_tokens(c, random_key(key, (uint64_t)(3 * r + 2)), t, b->target_in + r * T);
        batch_random_tokens(c, random_key(key, (uint64_t)(3 * r + 3)), t, b->target_out + r * T);
    }
    return b;
}
