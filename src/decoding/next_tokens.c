#include "decoding/next_tokens.h"
#include <math.h>

static bool may_follow(const NextTokens *t, int32_t id) {
    if (id == t->end_id) return true;
    if (id == t->begin_id || id == t->pad_id) return false;
    return !t->tokenizer || tokenizer_is_text(t->tokenizer, id);
}

void next_tokens_hide(const NextTokens *t, const int32_t *ids, long n, long count, real *scores) {
    (void)ids, (void)n;
    for (int32_t id = 0; id < count; id++)
        if (!may_follow(t, id)) scores[id] = -INFINITY;
}
