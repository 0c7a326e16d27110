/* Characters as tokens. Each distinct character of a text gets an id, in order of first appearance.
 *
 * A tokenizer is defined by its vocabulary: its characters in order of ids, as one string. Weight files store
 * that string in their metadata; tokenizer_string makes it and tokenizer_parse reads it.
 *
 * Text is UTF-8 without NUL. Errors begin with `WHERE: byte N`: the caller's name of the text (a path, "the
 * prompt") and an offset from 0. */
#ifndef TEXT_TOKENIZER_H
#define TEXT_TOKENIZER_H

#include "base/error.h"
#include "base/utf8.h"
#include <stddef.h>
#include <stdint.h>

typedef struct Tokenizer {
    long size;           /* ids are 0 … size-1 */
    uint32_t *character; /* [size]: the code point of each id */
    int32_t *ids;        /* by code point: its id + 1, or 0 */
} Tokenizer;

/* The tokenizer of the characters in text; the caller frees it. NULL: the text is not UTF-8 or has a NUL
 * (STATUS_BAD_DATA), or memory ran out. */
Tokenizer *tokenizer_learn(const char *where, const char *text, size_t length, Error *e);

/* The tokenizer of a vocabulary, a NUL-terminated string; the caller frees it. NULL: the string is empty, not
 * UTF-8, or has a character twice (STATUS_BAD_DATA), or memory ran out. */
Tokenizer *tokenizer_parse(const char *where, const char *vocabulary, Error *e);

/* The vocabulary as a NUL-terminated string; the caller frees it. NULL: memory ran out. */
char *tokenizer_string(const Tokenizer *k, Error *e);

void tokenizer_free(Tokenizer *k);

/* Writes the id of every character into ids, which has room for `length`, and their number into *count.
 * STATUS_BAD_DATA: invalid UTF-8, or a character that is not in the vocabulary. */
bool tokenizer_encode(const Tokenizer *k, const char *where, const char *text, size_t length, int32_t *ids,
                      long *count, Error *e);

/* Writes the characters of ids and a NUL into out, which has room for UTF8_MAX * count + 1 bytes; returns the
 * bytes before the NUL. An id without a character (begin, end, padding) becomes U+FFFD. */
size_t tokenizer_decode(const Tokenizer *k, const int32_t *ids, long count, char *out);

#endif
