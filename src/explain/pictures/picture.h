/* Pictures: described once, drawn to a terminal or as SVG.
 *
 *     Picture p = {PICTURE_MAP, "Layer 1, head 2", "Each word attends to the word before it.",
 *                  .map = {.rows = n, .columns = n, .row_labels = words, .column_labels = words,
 *                          .values = weights}};
 *     picture_draw(&p, &terminal);            see terminal.h
 *     pictures_save(&p, 1, "head.svg", e);
 *
 * A picture owns nothing: arrays and texts belong to the caller and must live while it is drawn. Labels
 * may hold any bytes: they cannot control a terminal, and they cannot add elements to SVG. */
#ifndef PICTURES_PICTURE_H
#define PICTURES_PICTURE_H

#include "base/error.h"
#include "explain/pictures/terminal.h"
#include <stdbool.h>
#include <stdio.h>

/* A matrix as shades: row 0 at the top, column 0 at the left. */
typedef struct HeatMap {
    long rows, columns;
    const char *row_name, *column_name;                   /* names of the axes: "query"; NULL: none */
    const char *const *row_labels, *const *column_labels; /* NULL: numbers from 0 */
    const double *values;                                 /* [rows, columns]; NAN: an empty cell */
    double low, high; /* values of the lightest and darkest shade; equal: the least and largest value */
} HeatMap;

/* A function given by points. Points that are not finite are left out. */
typedef struct Series {
    const char *name;
    long count;
    const double *x, *y; /* [count]; x NULL: 0, 1, …; x must not decrease unless `points` */
    bool points;         /* marks only, no line */
    bool marked;         /* SVG: a line with a mark at each point */
} Series;

typedef struct LineChart {
    const char *x_name, *y_name; /* NULL: none */
    bool log_x, log_y;           /* logarithmic axes leave out points that are not above 0 */
    double y_low, y_high;        /* range of the axis; equal: the range of the values */
    const Series *series;        /* [count] */
    long count;
} LineChart;

typedef enum PictureKind { PICTURE_MAP, PICTURE_CHART } PictureKind;

typedef struct Picture {
    PictureKind kind;
    const char *title;       /* one line */
    const char *description; /* what the picture shows, for readers who cannot see it; NULL: the title */
    union {
        HeatMap map;
        LineChart chart;
    };
} Picture;

/* Draws to t->out, at most t->width columns wide. A map that is too large shows means of neighbouring
 * cells. */
void picture_draw(const Picture *p, const Terminal *t);

/* Writes an <svg> element. It uses the text colour of its surroundings and is legible on light and dark. */
void picture_svg(const Picture *p, FILE *out);

/* Saves [count] >= 1 pictures below each other in one file, light or dark as its reader prefers.
 * STATUS_CANNOT_CREATE, STATUS_IO, STATUS_NO_MEMORY. */
bool pictures_save(const Picture *p, long count, const char *path, Error *e);

#endif
