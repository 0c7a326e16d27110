/* Characters as tokens: every different character of a text gets an id, 0, 1, 2, … in the order in which the
 * characters first appear.
 *
 * The vocabulary written as a string, each character once and in order of ids, is all there is to know about
 * a tokenizer: tokenizer_string gives it and tokenizer_parse makes the same tokenizer of it, so a weight file
 * carries its vocabulary as one line of metadata.
 *
 * Text is UTF-8 without NUL. Every error names its place as `WHERE: byte N`, where WHERE is the caller's name
 * of the text (a path, "the prompt") and N counts bytes from 0. */
#ifndef TEXT_TOKENIZER_H
#define TEXT_TOKENIZER_H

#include "base/error.h"
#include "base/utf8.h"
#include <stddef.h>
#include <stdint.h>

typedef struct Tokenizer {
    long size;           /* ids are 0 … size-1 */
    uint32_t *character; /* [size]: the code point of each id */
    int32_t *ids;        /* by code point: its id + 1; 0 where it has none */
} Tokenizer;

/* The tokenizer of the characters in text; the caller frees it. NULL: the text is not UTF-8 or has a NUL
 * (STATUS_BAD_DATA), or memory ran out. */
Tokenizer *tokenizer_learn(const char *where, const char *text, size_t length, Error *e);

/* The tokenizer whose vocabulary is the NUL-terminated string; the caller frees it. NULL: the string is
 * empty, not UTF-8, or says a character twice (STATUS_BAD_DATA), or memory ran out. */
Tokenizer *tokenizer_parse(const char *where, const char *vocabulary, Error *e);

/* The vocabulary as a NUL-terminated string; the caller frees it. NULL: memory ran out. */
char *tokenizer_string(const Tokenizer *k, Error *e);

void tokenizer_free(Tokenizer *k);

/* Writes the id of every character into ids, which has room for `length` of them (no character is shorter
 * than a byte), and their number into *count. STATUS_BAD_DATA: invalid UTF-8, or a character without an id.
 */
bool tokenizer_encode(const Tokenizer *k, const char *where, const char *text, size_t length, int32_t *ids,
                      long *count, Error *e);

/* Writes the characters of ids and a NUL into out, which has room for UTF8_MAX * count + 1 bytes; returns the
 * bytes before the NUL. What is no id of a character (begin, end and padding are not) reads U+FFFD. */
size_t tokenizer_decode(const Tokenizer *k, const int32_t *ids, long count, char *out);

#endif
