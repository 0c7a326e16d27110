#include "decoding/next_tokens.h"
#include "nn/config.h"
#include <math.h>

static bool ends_line(const Tokenizer *k, int32_t id) {
    uint32_t i = k->start[id];
    while (i < k->start[id + 1] && k->text[i] != '\n' && k->text[i] != '\r') i++;
    return i < k->start[id + 1];
}

/* The text leaves `bytes` of a character, at `begun`, unfinished. */
static bool may_follow(const NextTokens *t, const char *begun, size_t bytes, int32_t id) {
    if (id == t->end_id) return bytes == 0;
    if (id == t->begin_id || id == t->pad_id) return false;
    if (!t->tokenizer) return true;
    return tokenizer_may_follow(t->tokenizer, begun, bytes, id) &&
           (t->end_id == NO_PAD || !ends_line(t->tokenizer, id));
}

void next_tokens_hide(const NextTokens *t, const int32_t *ids, long n, long count, real *scores) {
    char begun[UTF8_MAX];
    size_t bytes = t->tokenizer ? tokenizer_unfinished(t->tokenizer, ids, n, begun) : 0;
    for (int32_t id = 0; id < count; id++)
        if (!may_follow(t, begun, bytes, id)) scores[id] = -INFINITY;
}
