#include "base/error.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool error_set(Error *e, Status status, const char *format, ...) {
    WANT(e);
    if (e->status != STATUS_DONE) return false;
    e->status = status;

    /* The longest texts are paths (PATH_MAX is 4096). Their middle is what a reader misses least.
     */
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

static _Thread_local FatalHandler fatal_handler;
static _Thread_local char fatal_text[ERROR_TEXT];

FatalHandler error_on_fatal(FatalHandler handler) {
    FatalHandler before = fatal_handler;
    fatal_handler = handler;
    return before;
}

static __attribute__((noreturn)) void fail(Status status, const char *format, va_list arguments) {
    vsnprintf(fatal_text, sizeof fatal_text, format, arguments);
    if (fatal_handler.call) fatal_handler.call(fatal_handler.context, status, fatal_text);
    fprintf(stderr, "%s: %s\n", status == STATUS_NO_MEMORY ? "out of memory" : "bug", fatal_text);
    exit((int)status);
}

void error_bug(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    fail(STATUS_BUG, format, arguments);
}

void error_fatal(Status status, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    fail(status, format, arguments);
}
