/* UTF-8 as RFC 3629 has it, and nothing more: no overlong form, no surrogate, nothing above U+10FFFF. */
#ifndef BASE_UTF8_H
#define BASE_UTF8_H

#include "base/error.h"
#include <stddef.h>
#include <stdint.h>

enum { UTF8_MAX = 4 }; /* bytes of the longest character */

/* Decodes the character at the start of text, of which `length` bytes may be read. Returns how many bytes it
 * takes, 1 to 4, and puts it into *character; 0 where the bytes are not UTF-8, or length is 0. */
int utf8_decode(const char *text, size_t length, uint32_t *character);

/* Writes the character's bytes into out and returns how many. A surrogate or a number above U+10FFFF is a
 * bug. */
int utf8_encode(uint32_t character, char out[UTF8_MAX]);

/* What keeps text from starting with a character, for a message: "an overlong form", "a surrogate", … NULL
 * where a character stands there. length must not be 0. */
const char *utf8_problem(const char *text, size_t length);

/* True if all of text is UTF-8. If not, STATUS_BAD_DATA `WHERE: byte N: found …`, N counted from 0. */
bool utf8_check(const char *where, const char *text, size_t length, Error *e);

/* Puts '?' in the place of every byte that cannot be printed: of control characters, and of what is not
 * UTF-8. */
void utf8_make_printable(char *text);

/* Characters in text, which is UTF-8. */
size_t utf8_count(const char *text, size_t length);

/* Copies the first 64 bytes of an untrusted name into out, so that printing it cannot drive a terminal:
 * control characters, line separators, bidirectional overrides and invalid UTF-8 are written as \xNN. A name
 * that is cut ends in "...". Returns out. */
enum { ESCAPED_BYTES = 64, ESCAPED_TEXT = 4 * ESCAPED_BYTES + 4 };
const char *utf8_escape(char out[ESCAPED_TEXT], const char *text);

/* The same in memory of its own, which lasts as long as the block: for a message. */
#define ESCAPED(text) utf8_escape((char[ESCAPED_TEXT]){0}, text)

#endif
