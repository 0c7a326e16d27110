/* The kinds char and word: tokens are pieces of the text, each whole, and [UNK] stands for those
 * outside the vocabulary. The string has a line `BYTES TEXT` for each piece, its length and
 * itself. */
#pragma once

#include "text/tokenizer.h"

/* Counts the pieces of texts, of their first `max` bytes. */
bool pieces_count(const TokenizerKind *kind, const Passage *p, long passages, size_t max,
                  Dictionary *found, Error *e);

/* Gives an empty tokenizer these tokens, after [UNK] if it has one. Copies their texts. */
bool pieces_take(Tokenizer *k, const Dictionary *found, const char *where, Error *e);

/* As the functions of TokenizerKind, once k->unknown is set. Learns `size` tokens at most; without
 * [UNK] more pieces are STATUS_BAD_DATA. */
bool pieces_learn(Tokenizer *k, long size, const Passage *p, long passages, Error *e);
bool pieces_parse(Tokenizer *k, const char *where, const char *string, const char *need, Error *e);
void pieces_write(const Tokenizer *k, FILE *out);
bool pieces_encode(const Tokenizer *k, const Passage *p, size_t *at, size_t end, int32_t *ids,
                   long *count, Error *e);
