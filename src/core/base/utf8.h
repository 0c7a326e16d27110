/* UTF-8 as in RFC 3629: no overlong forms, no surrogates, nothing above U+10FFFF. */
#pragma once

#include "base/error.h"
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { UTF8_MAX = 4 }; /* bytes of the longest character */

/* Decodes the first character of text, which has `length` bytes, into *character. Returns its
 * bytes, 1 to 4; 0 if they are not UTF-8 or length is 0. */
int utf8_decode(const char *text, size_t length, uint32_t *character);

/* Decodes the first symbol of any bytes: a character, or a byte that is not UTF-8 as the symbol
 * NO_UTF8 + the byte. Returns its bytes. length is not 0. */
enum { NO_UTF8 = 0x110000 };
size_t utf8_symbol(const char *text, size_t length, uint32_t *symbol);

/* Whether the byte is the second or a later one of a character. */
static inline bool utf8_continues(char byte) {
    return ((unsigned char)byte & 0xC0) == 0x80;
}

/* Writes the character's bytes into out and returns how many. A surrogate or a number above
 * U+10FFFF is a bug. */
int utf8_encode(uint32_t character, char out[UTF8_MAX]);

/* Bytes of text before the first that is not UTF-8. */
size_t utf8_valid(const char *text, size_t length);

/* True if all of text is UTF-8. If not, STATUS_BAD_DATA `WHERE: byte N: found 0xXX, need UTF-8`, N
 * counted from 0. */
bool utf8_check(const char *where, const char *text, size_t length, Error *e);

/* Bytes of the byte-order mark that text begins with: 3, or 0. */
size_t utf8_mark(const char *text, size_t length);

/* Bytes at the end of text that begin a character and do not complete it: 0 to 3. */
size_t utf8_unfinished(const char *text, size_t length);

/* Characters in text, which is UTF-8. */
size_t utf8_count(const char *text, size_t length);

/* Bytes of the first `characters` characters of text, or all. */
size_t utf8_prefix(const char *text, size_t length, size_t characters);

/* Whether the character has no shape of its own: it moves the cursor, ends a line or turns the
 * direction of writing. */
bool utf8_drives_terminal(uint32_t character);

/* Prints a text. Where `out` is a terminal, U+FFFD stands for bytes that are not UTF-8 and for
 * characters that drive it, but tab and line feed. */
void utf8_print(FILE *out, const char *text, size_t length);

/* Replaces characters that drive a terminal, except those in `keep`, and bytes that are not UTF-8
 * by '?'. */
void utf8_make_printable(char *text, const char *keep);

/* Copies the first 64 bytes of an untrusted name into out, so that printing it cannot control a
 * terminal: control characters, line separators, bidirectional overrides and invalid UTF-8 are
 * written as \xNN. A shortened name ends in "...". Returns out. */
enum { ESCAPED_BYTES = 64, ESCAPED_TEXT = 4 * ESCAPED_BYTES + 4 };
const char *utf8_escape(char out[ESCAPED_TEXT], const char *text);

/* The same, in memory that lives as long as the enclosing block: for a message. */
#define ESCAPED(text) utf8_escape((char[ESCAPED_TEXT]){0}, text)
