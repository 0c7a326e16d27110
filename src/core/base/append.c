#include "base/append.h"
#include "base/error.h"
#include <stdarg.h>
#include <string.h>

void text_append(char *text, size_t capacity, const char *format, ...) {
    size_t used = strlen(text);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text + used, capacity - used, format, arguments);
    va_end(arguments);
}

FILE *text_open(char **text, size_t *size) {
    *text = NULL;
    FILE *out = open_memstream(text, size);
    if (!out) error_no_memory("a text");
    return out;
}

void text_close(FILE *out, char *const *text) {
    /* fclose may run out of memory without an error. */
    if (fclose(out) != 0 || !*text) error_no_memory("a text");
}
