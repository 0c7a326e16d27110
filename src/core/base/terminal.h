/* The abilities of an output stream. */
#pragma once

#include <stdbool.h>
#include <stdio.h>

typedef struct Terminal {
    FILE *out;
    int width;    /* maximum number of columns of a line */
    bool colour;  /* it understands escape sequences of 256 colours, and the user wants them */
    bool unicode; /* the locale's encoding is UTF-8 */
} Terminal;

/* Tells the abilities of `out`. It has colour if it is a terminal with colours and NO_COLOR is
 * unset or empty (no-color.org). It has UTF-8 if the environment's locale says so. The width is
 * COLUMNS of the environment, or the terminal's, or 80, less one column: on some terminals text in
 * the last column begins a new line. */
Terminal terminal_of(FILE *out);

/* Columns of the terminal that `out` writes to; 80 if it is none. */
int terminal_columns(FILE *out);

/* True if the locale of the environment writes UTF-8. */
bool terminal_unicode(void);
