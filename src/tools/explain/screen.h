/* Sentences, labels and maps on a terminal. */
#pragma once

#include "base/real.h"
#include "base/terminal.h"

/* Prints lines of text, those that are too long broken at the terminal's width, `indent` blanks
 * before each. */
void print_wrapped(const char *text, int indent);

/* Makes a text of any origin safe to show in at most `max` columns, and returns how many it takes.
 * An ellipsis ends a text that was longer. Blanks alone become open boxes, a line feed an arrow;
 * control characters, overrides of the direction of writing, and bytes that are not UTF-8 become
 * U+FFFD. Where the terminal has no UTF-8, the label is ASCII. */
enum { LABEL_TEXT = 256 };
int label_of(char out[LABEL_TEXT], const char *text, int max);

/* The same of a row or column; labels NULL: its number, from 0. */
int label_at(char out[LABEL_TEXT], const char *const *labels, long index, int max);

/* Columns of the widest of `count` labels. */
int label_widest(const char *const *labels, long count, int max);

/* Prints a label filled with blanks to so many columns, at its left if `right`. */
void label_print(const char *const *labels, long index, int columns, bool right);

/* A matrix as shades: row 0 at the top, column 0 at the left. */
typedef struct Map {
    const char *title;
    long rows, columns;
    const char *row_name, *column_name;                   /* of the axes: "query" */
    const char *const *row_labels, *const *column_labels; /* NULL: numbers from 0 */
    const real *values;                                   /* [rows, columns]; NAN: an empty cell */
    double low, high; /* of the lightest and darkest shade; equal: of the minimum and maximum */
} Map;

/* Prints title and map on stdout; of a large map, the first rows and columns. */
void map_print(const Map *m);
