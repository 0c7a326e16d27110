/* Appends to a string in an array of a given size. */
#pragma once

#include <stddef.h>

/* Prints at the end of `text`, as far as its array of `room` bytes has room. */
void text_append(char *text, size_t room, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
