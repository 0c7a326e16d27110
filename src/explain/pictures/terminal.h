/* What a stream can show. */
#ifndef PICTURES_TERMINAL_H
#define PICTURES_TERMINAL_H

#include <stdbool.h>
#include <stdio.h>

typedef struct Terminal {
    FILE *out;
    int width;    /* columns that a line may take */
    bool colour;  /* escape sequences of 256 colours are understood, and wanted */
    bool unicode; /* the locale's encoding is UTF-8 */
} Terminal;

/* Colour only where `out` is a terminal that has it and NO_COLOR is unset or empty (no-color.org); UTF-8 as the
 * environment's locale says. The width is the terminal's, less its last column, which would begin a new line in some;
 * where there is none, 79. */
Terminal terminal_of(FILE *out);

/* Columns of the terminal behind `out`; 80 where it is none. */
int terminal_columns(FILE *out);

/* True if the locale of the environment writes UTF-8. */
bool terminal_unicode(void);

#endif
