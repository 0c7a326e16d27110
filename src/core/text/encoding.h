/* Whether bytes are text. */
#pragma once

#include "base/error.h"
#include <stddef.h>

/* True if all of it is UTF-8 without NUL. Otherwise STATUS_BAD_DATA: a UTF-16 byte-order mark is
 * named, and other formats that are known by their first bytes; of other bytes the error has the offset of the first that is no text, and the command that
 * converts a file of the name `where`, or gives it to the task of ./train. */
bool text_check(const char *where, const char *text, size_t length, const char *task, Error *e);
