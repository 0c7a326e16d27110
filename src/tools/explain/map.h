/* Maps on a terminal: a matrix as shades, with labels. */
#pragma once

#include "base/real.h"
#include "base/terminal.h"
#include "explain/label.h"

/* A matrix: row 0 at the top, column 0 at the left. */
typedef struct Map {
    const char *title, *description; /* NULL: none */
    long rows, columns;
    const char *row_name, *column_name;                   /* of the axes: "query" */
    const char *const *row_labels, *const *column_labels; /* NULL: numbers from 0 */
    const real *values;                                   /* [rows, columns]; NAN: an empty cell */
    double low, high; /* of the lightest and darkest shade; equal: of the minimum and maximum */
} Map;

/* Prints title and map on stdout; of a large map, the first rows and columns. */
void map_print(const Map *m);

/* The label of a row or column, and the columns that the widest of them takes. */
Label map_label(const char *const *labels, long index, int max, bool unicode);
int map_widest(const char *const *labels, long count, int max, bool unicode);
