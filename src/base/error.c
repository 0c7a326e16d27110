/* Errors of the world, which travel up, and bugs, which stop the program. */
#include "base/error.h"
#include "base/utf8.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool fail(Error *e, Status status, const char *format, ...) {
    if (e->status != STATUS_DONE) return false;
    e->status = status;

    /* The longest texts are paths (PATH_MAX is 4096). Their middle is what a reader misses least. */
    char text[8192];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    size_t length = strlen(text), half = ERROR_TEXT / 2 - 2;
    if (length < ERROR_TEXT)
        memcpy(e->text, text, length + 1);
    else
        snprintf(e->text, sizeof e->text, "%.*s...%s", (int)half, text, text + length - half);

    for (char *c = e->text; *c; c++)
        if ((unsigned char)*c < ' ' || *c == 0x7F) *c = '?';
    return false;
}

void bug(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    fputs("bug: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    exit(STATUS_BUG);
}

/* Characters that move the cursor, end a line or turn the direction of writing. */
static bool drives_terminal(uint32_t c) {
    return c < ' ' || (c >= 0x7F && c < 0xA0) || c == 0x061C || c == 0x200E || c == 0x200F ||
           (c >= 0x2028 && c <= 0x202E) || (c >= 0x2066 && c <= 0x2069);
}

const char *escaped(char out[ESCAPED_TEXT], const char *text) {
    size_t length = strlen(text), at = 0;
    char *end = out;
    while (at < length) {
        uint32_t character;
        int bytes = utf8_decode(text + at, length - at, &character);
        bool plain = bytes && !drives_terminal(character);
        if (!bytes) bytes = 1;
        if (at + (size_t)bytes > ESCAPED_BYTES) break;
        for (int i = 0; i < bytes; i++, at++) {
            if (plain)
                *end++ = text[at];
            else
                end += sprintf(end, "\\x%02X", (unsigned)(unsigned char)text[at]);
        }
    }
    strcpy(end, at < length ? "..." : "");
    return out;
}
