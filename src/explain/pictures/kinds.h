/* What the kinds of picture show. */
#ifndef PICTURES_KINDS_H
#define PICTURES_KINDS_H

#include <stdbool.h>

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
    bool marked;         /* SVG: a line with a mark at each point */
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

#endif
