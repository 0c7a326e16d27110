#include "text/encoding.h"
#include "base/program.h"
#include "base/utf8.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The number of bytes before the first that is no text: not UTF-8, or NUL. */
static size_t text_valid(const char *text, size_t length) {
    size_t valid = utf8_valid(text, length);
    const char *nul = memchr(text, 0, valid);
    return nul ? (size_t)(nul - text) : valid;
}

/* Whether the text begins with a byte-order mark of UTF-16, in either order; that of UTF-32 goes on
 * with two NUL. */
static bool is_utf16(const char *text, size_t length) {
    if (length < 2 || (memcmp(text, "\xFF\xFE", 2) != 0 && memcmp(text, "\xFE\xFF", 2) != 0))
        return false;
    return length < 4 || memcmp(text + 2, "\0\0", 2) != 0;
}

bool text_check(const char *where, const char *text, size_t length, Error *e) {
    size_t offset = text_valid(text, length);
    if (offset == length) return true;
    bool utf16 = is_utf16(text, length);
    char found[64],
        *words[] = {"iconv", "-f", utf16 ? "UTF-16" : "ENCODING", "-t", "UTF-8", (char *)where};
    char *command = shell_command(6, words, &(Error){0});
    snprintf(found, sizeof found, "byte %zu: found 0x%02X", offset,
             (unsigned)(unsigned char)text[offset]);
    error_set(e, STATUS_BAD_DATA,
              "%s: %s, need UTF-8 text or --tokenizer byte; %s >NEW converts it", where,
              utf16 ? "found UTF-16" : found, command ? command : "iconv");
    free(command);
    return false;
}
