/* Pictures: described once, drawn to a terminal and as SVG.
 *
 *     Picture p = {PICTURE_MAP, "Layer 1, head 2", "Each word looks at the one before it.",
 *                  .map = {.rows = n, .columns = n, .row_labels = words, .column_labels = words,
 *                          .values = weights}};
 *     picture_draw(&p, &(Terminal)...);       see pictures/terminal.h
 *     pictures_save(&p, 1, "head.svg", e);
 *
 * A picture owns nothing: arrays and texts are the caller's and live as long as it is drawn. Labels are UTF-8 from
 * anywhere: they cannot drive a terminal, nor run or end anything in SVG. */
#ifndef PICTURES_PICTURE_H
#define PICTURES_PICTURE_H

#include "base/error.h"
#include "pictures/terminal.h"
#include <stdio.h>

typedef enum PictureKind {
    PICTURE_MAP,
    PICTURE_CHART,
    PICTURE_BARS,
    PICTURE_ARCS,
    PICTURE_GRAPH
} PictureKind;

/* A matrix as shades: row 0 at the top, column 0 at the left. */
typedef struct HeatMap {
    long rows, columns;
    const char *row_name, *column_name; /* what the axes are: "query"; NULL: nothing is said */
    const char *const *row_labels, *const *column_labels; /* NULL: their numbers, from 0 */
    const double *values;                                 /* [rows, columns]; NAN: an empty cell */
    double low,
        high; /* what the lightest and the darkest shade stand for; equal: the least and the largest value */
} HeatMap;

/* A function given by points; those that are not finite are left out. */
typedef struct Series {
    const char *name;
    long count;
    const double *x, *y; /* [count]; x NULL: 0, 1, …; x may not decrease unless `points` */
    bool points;         /* marks alone, without a line between them */
} Series;

typedef struct LineChart {
    const char *x_name, *y_name; /* NULL: nothing is said */
    bool log_x, log_y;           /* points that are not above 0 are left out */
    double y_low, y_high;        /* what the axis covers; equal: what the values cover */
    const Series *series;        /* [count] */
    long count;
} LineChart;

/* Horizontal bars from 0; values that are negative or not finite have none. */
typedef struct BarChart {
    const char *value_name; /* NULL: nothing is said */
    const char *const *labels;
    const double *values; /* [count] */
    long count;
} BarChart;

/* Who looks at whom: weights as arcs between words of one line, those of row i leaving word i. Arcs to the right
 * run above the line, those to the left below it. A terminal shows them as a map. */
typedef struct Arcs {
    const char *const *labels; /* [count] */
    const double *weights;     /* [count, count], from 0 to 1 */
    long count;
} Arcs;

/* Who reads whom: steps in the order in which they ran, each of which reads earlier ones. A line a step, from the top;
 * on its left the values that are still to be read, each in a lane of its own. */
enum { GRAPH_MOST = 256 };
typedef struct GraphStep {
    const char *label;
    int count; /* of what it reads */
    const int *reads;
} GraphStep;

typedef struct Graph {
    const GraphStep *steps;
    int count; /* at most GRAPH_MOST */
} Graph;

typedef struct Picture {
    PictureKind kind;
    const char *title;       /* one line */
    const char *description; /* what is to be seen, for who cannot see it; NULL: the title says it */
    union {
        HeatMap map;
        LineChart chart;
        BarChart bars;
        Arcs arcs;
        Graph graph;
    };
} Picture;

/* Draws to t->out, no wider than t->width. A map with more columns than fit shows means of neighbours, and says so. */
void picture_draw(const Picture *p, const Terminal *t);

/* Writes an <svg> element that takes its foreground colour from where it stands, and is legible on light and dark. */
void picture_svg(const Picture *p, FILE *out);

/* Pictures [count], at least one, below each other in a file of their own, which is light or dark as its reader
 * prefers. STATUS_CANNOT_CREATE, STATUS_IO, STATUS_NO_MEMORY. */
bool pictures_save(const Picture *p, long count, const char *path, Error *e);

#endif
