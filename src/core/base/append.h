/* Text in arrays of a given size, and text that grows. */
#pragma once

#include <stddef.h>
#include <stdio.h>

/* Prints at the end of `text`, as far as its array of `capacity` bytes holds it. */
void text_append(char *text, size_t capacity, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Opens a stream into a text, which is to be freed after text_close. Both end the program if memory
 * runs out. */
FILE *text_open(char **text, size_t *size);
void text_close(FILE *out, char *const *text);
