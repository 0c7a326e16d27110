#include "decoding/next_tokens.h"
#include <math.h>

/* `state`: of UTF-8, after the text. */
static bool may_follow(const NextTokens *t, int state, int32_t id) {
    if (id == t->end_id) return state == 0;
    if (id == t->begin_id || id == t->pad_id) return false;
    return !t->tokenizer || tokenizer_may_follow(t->tokenizer, state, id);
}

void next_tokens_hide(const NextTokens *t, const int32_t *ids, long n, long count, real *scores) {
    int state = t->tokenizer ? tokenizer_state(t->tokenizer, ids, n) : 0;
    for (int32_t id = 0; id < count; id++)
        if (!may_follow(t, state, id)) scores[id] = -INFINITY;
}
