/* Byte-pair encoding (Sennrich, Haddow & Birch, arXiv:1508.07909), on characters.
 *
 * Tokens 0 to 255 are the bytes. The next tokens are characters of several bytes. Such a character
 * is a token if the text has it at least twice and at least characters / (4 · size) times, where
 * characters counts all of the text and size is the vocabulary's. These take at most half of the
 * ids above 255, the most frequent first.
 *
 * A word (text/words.h) begins as these characters, and as the bytes of all others. Each further
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

/* The token that a pair becomes, or -1. `pieces` has the characters that are tokens, and then the
 * bytes of every Merge, in the order of their ids. */
int32_t bpe_joined(const Dictionary *pieces, Merge pair);

/* Learns at most `max` merges from words and their counts; words have at most TOKEN_BYTES bytes.
 * `characters` has those that are tokens. Returns how many merges there are; -1: STATUS_NO_MEMORY.
 */
long bpe_learn(const Dictionary *words, const Dictionary *characters, long max, Merge *merge,
               Error *e);

/* Writes the characters and bytes that a word of n ≤ TOKEN_BYTES bytes begins as into ids, which
 * has room for n. Returns their number. */
long bpe_begin(const Dictionary *pieces, const char *word, size_t n, int32_t *ids);

/* The same for its tokens. */
long bpe_encode_word(const Dictionary *pieces, const char *word, size_t n, int32_t *ids);
