#include "text/bpe.h"
#include <string.h>

int32_t bpe_joined(const Dictionary *merges, Merge pair) {
    long number = dictionary_find(merges, (const char *)&pair, sizeof pair);
    return number < 0 ? -1 : BYTE_TOKENS + (int32_t)number;
}

/* Joins the pair of the earliest merge, one place at a time. That equals joining all places of a
 * merge at once, because no merge makes a pair of an earlier one. */
long bpe_encode_word(const Dictionary *merges, const char *word, size_t n, int32_t *ids) {
    int32_t becomes[TOKEN_BYTES]; /* the token of ids i and i + 1 */
    long count = (long)n;
    for (size_t i = 0; i < n; i++) ids[i] = (unsigned char)word[i];
    for (long i = 0; i + 1 < count; i++)
        becomes[i] = bpe_joined(merges, (Merge){ids[i], ids[i + 1]});
    for (;;) {
        long at = -1;
        for (long i = 0; i + 1 < count; i++)
            if (becomes[i] >= 0 && (at < 0 || becomes[i] < becomes[at])) at = i;
        if (at < 0) return count;
        ids[at] = becomes[at];
        count--;
        memmove(ids + at + 1, ids + at + 2, (size_t)(count - at - 1) * sizeof *ids);
        memmove(becomes + at, becomes + at + 1, (size_t)(count - at) * sizeof *becomes);
        if (at > 0) becomes[at - 1] = bpe_joined(merges, (Merge){ids[at - 1], ids[at]});
        if (at + 1 < count) becomes[at] = bpe_joined(merges, (Merge){ids[at], ids[at + 1]});
    }
}
