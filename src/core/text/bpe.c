#include "text/bpe.h"
#include "base/utf8.h"
#include <string.h>

int32_t bpe_joined(const Dictionary *pieces, Merge pair) {
    long number = dictionary_find(pieces, (const char *)&pair, sizeof pair);
    return number < 0 ? -1 : BYTE_TOKENS + (int32_t)number;
}

long bpe_begin(const Dictionary *pieces, const char *word, size_t n, int32_t *ids) {
    uint32_t character;
    long count = 0;
    for (size_t at = 0; at < n;) {
        size_t bytes = (size_t)utf8_decode(word + at, n - at, &character);
        long number = bytes > 1 ? dictionary_find(pieces, word + at, bytes) : -1;
        if (number < 0) bytes = 1;
        ids[count++] = number < 0 ? (unsigned char)word[at] : BYTE_TOKENS + (int32_t)number;
        at += bytes;
    }
    return count;
}

/* Joins the pair of the earliest merge, one place at a time. That equals joining all places of a
 * merge at once, because no merge makes a pair of an earlier one. */
long bpe_encode_word(const Dictionary *pieces, const char *word, size_t n, int32_t *ids) {
    int32_t becomes[TOKEN_BYTES]; /* the token of ids i and i + 1 */
    long count = bpe_begin(pieces, word, n, ids);
    for (long i = 0; i + 1 < count; i++)
        becomes[i] = bpe_joined(pieces, (Merge){ids[i], ids[i + 1]});
    for (;;) {
        long at = -1;
        for (long i = 0; i + 1 < count; i++)
            if (becomes[i] >= 0 && (at < 0 || becomes[i] < becomes[at])) at = i;
        if (at < 0) return count;
        ids[at] = becomes[at];
        count--;
        memmove(ids + at + 1, ids + at + 2, (size_t)(count - at - 1) * sizeof *ids);
        memmove(becomes + at, becomes + at + 1, (size_t)(count - at) * sizeof *becomes);
        if (at > 0) becomes[at - 1] = bpe_joined(pieces, (Merge){ids[at - 1], ids[at]});
        if (at + 1 < count) becomes[at] = bpe_joined(pieces, (Merge){ids[at], ids[at + 1]});
    }
}
