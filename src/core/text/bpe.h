/* Byte-pair encoding (Sennrich, Haddow & Birch, arXiv:1508.07909), on bytes as in GPT-2.
 *
 * Tokens 0 to 255 are the bytes. A word (text/words.h) begins as its bytes. Each further
 * token is a merge: it joins two earlier tokens, left and right, the most frequent pair of
 * neighbours inside words after the earlier merges. Of equally frequent pairs it is the one with
 * the smaller left id, then the one with the smaller right id. Overlapping pairs, of one token with
 * itself, each count; they are replaced from left to right. Learning stops when no pair occurs
 * twice.
 *
 * Encoding applies the merges in their order. */
#pragma once

#include "text/dictionary.h"
#include "text/words.h"

enum { BYTE_TOKENS = 256 };

typedef struct Merge {
    int32_t left, right;
} Merge;

/* The token that a pair becomes, or -1. `merges` has the bytes of every Merge, in the order of
 * their ids. */
int32_t bpe_joined(const Dictionary *merges, Merge pair);

/* Learns at most `max` merges from words and their counts; words have at most TOKEN_BYTES bytes.
 * Returns how many merges there are; -1: STATUS_NO_MEMORY. */
long bpe_learn(const Dictionary *words, long max, Merge *merge, Error *e);

/* Writes the tokens of a word of n ≤ TOKEN_BYTES bytes into ids, which has memory for n. Returns
 * their number. */
long bpe_encode_word(const Dictionary *merges, const char *word, size_t n, int32_t *ids);
