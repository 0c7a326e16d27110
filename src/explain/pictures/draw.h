/* The drawings of each kind of picture, and their shared parts. */
#ifndef PICTURES_DRAW_H
#define PICTURES_DRAW_H

#include "explain/pictures/label.h"
#include "explain/pictures/picture.h"

/* ---- Axes ---- */

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

/* Widens *low and *high to the [count] values that an axis can show. */
void axis_widen(double *low, double *high, const double *values, long count, bool log);

/* ---- Drawings: to a terminal, below the title; as SVG, within a frame of their size in pixels ---- */

typedef struct Size {
    double width, height;
} Size;

void draw_map(const HeatMap *m, const Terminal *t);
void draw_chart(const LineChart *c, const Terminal *t);
Size svg_map_size(const HeatMap *m);
Size svg_chart_size(const LineChart *c);
void svg_map(const HeatMap *m, FILE *out);
void svg_chart(const LineChart *c, FILE *out);

/* ---- Parts ---- */

/* The range of a map's shades. */
Axis map_shades(const HeatMap *m);

/* The label of a row or column, and the columns that the widest of them takes; labels NULL: numbers. */
Label map_label(const char *const *labels, long at, int most, bool unicode);
int map_widest(const char *const *labels, long count, int most, bool unicode);

/* The axes of a chart around its series. */
void chart_axes(const LineChart *c, Axis *x, Axis *y);
double series_x(const Series *s, long i);

/* Colours that most people with colour blindness can tell apart, by day and by night. */
enum { COLOURS = 6 };
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

#endif
