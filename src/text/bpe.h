/* Byte-pair encoding (Sennrich, Haddow & Birch, arXiv:1508.07909), on bytes.
 *
 * Tokens 0 to 255 are the bytes. Merge m joins two earlier tokens, left and right, into token 256 + m. It is the
 * most frequent pair of neighbours inside words (text/words.h) after the earlier merges. Of equally frequent pairs it is
 * the one with the smaller left id, then the one with the smaller right id. Overlapping pairs each count; they are
 * replaced from left to right. Learning stops when no pair occurs twice.
 *
 * Encoding starts from the bytes of a word and applies the merges in their order. */
#ifndef TEXT_BPE_H
#define TEXT_BPE_H

#include "text/dictionary.h"
#include "text/words.h"

enum { BYTE_TOKENS = 256 };

typedef struct Merge {
    int32_t left, right;
} Merge;

/* The token that a pair becomes, or -1. `merges` has the bytes of every Merge, in order. */
int32_t bpe_joined(const Dictionary *merges, Merge pair);

/* Learns at most `most` merges from words and their counts; words have at most TOKEN_BYTES bytes. Returns how many
 * there are; -1: STATUS_NO_MEMORY. */
long bpe_learn(const Dictionary *words, long most, Merge *merge, Error *e);

/* Writes the tokens of a word of n ≤ TOKEN_BYTES bytes into ids, which has room for n. Returns their number. */
long bpe_encode_word(const Dictionary *merges, const char *word, size_t n, int32_t *ids);

#endif
