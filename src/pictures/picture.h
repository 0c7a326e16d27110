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
#pragma once

#include "base/error.h"
#include "base/real.h"
#include "pictures/label.h"
#include "pictures/terminal.h"
#include <stdbool.h>
#include <stdio.h>

/* A matrix as shades: row 0 at the top, column 0 at the left. */
typedef struct HeatMap {
    long rows, columns;
    const char *row_name, *column_name;                   /* names of the axes: "query"; NULL: none */
    const char *const *row_labels, *const *column_labels; /* NULL: numbers from 0 */
    const real *values;                                   /* [rows, columns]; NAN: an empty cell */
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
 * Fails as file_print does. */
bool pictures_save(const Picture *p, long count, const char *path, Error *e);

/* ---- Shared by the files of this directory ---- */

/* Drawings to a terminal, below the title. */
void draw_map(const HeatMap *m, const Terminal *t);
void draw_chart(const LineChart *c, const Terminal *t);

/* A line of text, `indent` columns from the left, cut at the terminal's width. */
void draw_line(const char *text, int indent, const Terminal *t);

/* Drawings as SVG, within a frame of their size in pixels. */
typedef struct Size {
    double width, height;
} Size;
Size svg_map_size(const HeatMap *m);
Size svg_chart_size(const LineChart *c);
void svg_map(const HeatMap *m, FILE *out);
void svg_chart(const LineChart *c, FILE *out);

typedef struct Axis {
    double low, high; /* low < high */
    bool log;         /* both above 0; positions are logarithmic */
} Axis;

/* The axis from low to high, made wider if that is no range: if nothing was found, or a single value. */
Axis axis_over(double low, double high, bool log);

/* 0 at the low end, 1 at the high end; NAN for NAN and, on a logarithmic axis, for values not above 0. */
double axis_place(const Axis *a, double value);

/* Puts up to `most` >= 2 round numbers of the axis into ticks, ascending. Returns their number. */
int axis_ticks(const Axis *a, int most, double *ticks);

/* Widens *low and *high to a value that an axis can show. */
void axis_widen(double *low, double *high, double value, bool log);

/* The range of a map's shades. */
Axis map_shades(const HeatMap *m);

/* The label of a row or column, and the columns that the widest of them takes; labels NULL: numbers. */
Label map_label(const char *const *labels, long at, int most, bool unicode);
int map_widest(const char *const *labels, long count, int most, bool unicode);

/* The axes of a chart around its series. */
void chart_axes(const LineChart *c, Axis *x, Axis *y);
double series_x(const Series *s, long i);

/* Colours that most people with colour blindness can tell apart, by day and by night. */
enum { COLOURS = 8 };
typedef struct Colour {
    const char *svg;    /* "#d55e00" */
    const char *dashes; /* of a line, for readers who see no colours: "4 2"; "none" */
    int terminal;       /* of 256 */
    char mark;
} Colour;
extern const Colour colours[COLOURS];

enum { SVG_LETTER = 8, SVG_LINE = 16, SVG_TEXT = 13 }; /* width of a letter, height of a line, size of type */

/* Writes a <text> element; `more` holds further attributes. */
void svg_text(FILE *out, double x, double y, const char *more, Label l);
