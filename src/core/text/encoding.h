/* Whether bytes are text. */
#pragma once

#include "base/error.h"
#include <stddef.h>

/* True if all of it is UTF-8 without NUL. Otherwise STATUS_BAD_DATA: the error names a byte-order
 * mark of UTF-16, and a format that is known by its first bytes; of other bytes it has the offset
 * of the first that is no text. It ends with the command that converts a file of the name `where`,
 * or gives it to the task of ./train. */
bool text_check(const char *where, const char *text, size_t length, const char *task, Error *e);
