/* Cuts a text into words, whose boundaries no token of byte-pair encoding crosses. A word is, from
 * its first byte on:
 *
 *     - characters of one class: letters (A-Z, a-z and bytes from 0x80 on), digits, or others
 *       (punctuation, control characters), with one space before them if there is one;
 *     - or ' and one or two letters A-Z, a-z that end there: 's, 'll, as contractions have them;
 *     - or blanks (space, \t, \n, \v, \f, \r), without the last space if a word follows it.
 *
 * A word has at most TOKEN_BYTES bytes; a longer run is several words, none of which begins inside
 * a character of UTF-8. The rule looks forward alone: a text may be cut where a word begins, and
 * each part has the same words. GPT-2 cuts in much the same way, with the classes of Unicode. */
#pragma once

#include <stddef.h>

enum { TOKEN_BYTES = 64 }; /* of a word, and of a token, at most */

/* Bytes of the word that text begins with; length is not 0. */
size_t word_length(const char *text, size_t length);
