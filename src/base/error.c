/* Errors of the world, which travel up, and bugs, which stop the program. */
#include "base/error.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool error_set(Error *e, Status status, const char *format, ...) {
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

static _Noreturn void end(Status status, const char *kind, const char *format, va_list arguments) {
    fputs(kind, stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    exit((int)status);
}

void error_bug(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    end(STATUS_BUG, "bug: ", format, arguments);
}

void error_no_memory(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    end(STATUS_NO_MEMORY, "out of memory: ", format, arguments);
}
