/* Appends to a string in an array of a given size. */
#pragma once

#include <stddef.h>

/* Prints at the end of `text`, as far as its array of `capacity` bytes holds it. */
void text_append(char *text, size_t capacity, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
