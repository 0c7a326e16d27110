/* Whether bytes are text, and if not, what they may be. */
#pragma once

#include "base/error.h"
#include <stddef.h>

/* Bytes before the first that is no text: not UTF-8, or NUL. */
size_t text_valid(const char *text, size_t length);

/* True if all of it is text. If not, STATUS_BAD_DATA `WHERE: byte N: found 0xXX, need UTF-8 text or --tokenizer
 * byte`, N counted from 0, with the encoding that the bytes look like and the command that converts a file of that name. A
 * packed file is named, too, with the command that unpacks it. */
bool text_check(const char *where, const char *text, size_t length, Error *e);

/* The likeliest encoding of bytes that are not UTF-8, as iconv names it; NULL: none. */
const char *text_encoding(const char *text, size_t length);
