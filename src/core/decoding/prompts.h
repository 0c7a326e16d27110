/* Prompts: the lines of a file, a pipe or a terminal. */
#pragma once

#include "base/error.h"
#include "base/utf8.h"
#include <stddef.h>
#include <stdio.h>

typedef struct Prompts {
    FILE *in;
    const char *name;
    bool typed; /* at a terminal */
    /* The line read last, without its end; the first line also without a byte-order mark. */
    char *line, *text;
    size_t bytes, capacity;
    long count;                    /* its number: from 1 */
    char where[ESCAPED_TEXT + 32]; /* "NAME: line N" */
} Prompts;

/* Opens the file at `path`; NULL: standard input. The caller closes it, also after a failure:
 * STATUS_NO_INPUT. */
bool prompts_open(Prompts *p, const char *path, Error *e);
void prompts_close(Prompts *p);

/* Reads the next line. False at the end, or with the error: STATUS_NO_INPUT for a directory,
 * STATUS_IO. */
bool prompts_next(Prompts *p, Error *e);
