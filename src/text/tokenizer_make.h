/* circle: text/tokenizer the struct and what fills it */
/* Making a tokenizer, from a text (tokenizer_learn.c) or from its string (tokenizer.c). */
#ifndef TEXT_TOKENIZER_MAKE_H
#define TEXT_TOKENIZER_MAKE_H

#include "text/tokenizer.h"

/* Bytes of the piece that a text begins with: a byte, a character or a word. length is not 0. */
size_t tokenizer_piece(TokenizerKind kind, const char *text, size_t length);

/* The n bytes from `at` on, of characters that begin there, are UTF-8 without NUL. STATUS_BAD_DATA. */
bool tokenizer_check_piece(const Passage *p, size_t at, size_t n, Error *e);

/* Gives an empty tokenizer of characters or words, with or without [UNK], these tokens. Copies their texts. */
bool tokenizer_take_pieces(Tokenizer *k, const Entry *piece, long count, const char *where, Error *e);

/* Gives an empty tokenizer the bytes and these merges. STATUS_BAD_DATA: a pair comes twice or makes more than
 * TOKEN_BYTES bytes. */
bool tokenizer_take_merges(Tokenizer *k, const Merge *merge, long count, const char *where, Error *e);

#endif
