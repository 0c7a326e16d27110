/* What the drawings of one kind of picture offer to picture.c, which chooses among them. */
#ifndef PICTURES_DRAW_H
#define PICTURES_DRAW_H

#include "explain/pictures/axis.h"
#include "explain/pictures/kinds.h"
#include "explain/pictures/label.h"
#include "explain/pictures/terminal.h"

/* To a terminal, below the title. */
void draw_map(const HeatMap *m, const Terminal *t);
void draw_chart(const LineChart *c, const Terminal *t);
void draw_bars(const BarChart *b, const Terminal *t);
void draw_graph(const Graph *g, const Terminal *t);

/* As SVG: the size first, in pixels of the drawing; then what the frame of that size holds. */
typedef struct Size {
    double width, height;
} Size;
Size svg_map_size(const HeatMap *m);
Size svg_chart_size(const LineChart *c);
Size svg_bars_size(const BarChart *b);
Size svg_arcs_size(const Arcs *a);
Size svg_graph_size(const Graph *g);
void svg_map(const HeatMap *m, FILE *out);
void svg_chart(const LineChart *c, FILE *out);
void svg_bars(const BarChart *b, FILE *out);
void svg_arcs(const Arcs *a, FILE *out);
void svg_graph(const Graph *g, FILE *out);

/* ---- What they share ---- */

/* The values that the shades of a map run between; its own, or what its values cover. */
Axis map_shades(const HeatMap *m);

/* The label of a row, or of a column. */
Label map_label(const char *const *labels, long at, int most, bool unicode);

/* The axes of a chart, around what its series cover. */
void chart_axes(const LineChart *c, Axis *x, Axis *y);
double series_x(const Series *s, long i);

/* The largest value of a bar chart, above 0. */
double bars_most(const BarChart *b);

/* Where the steps of a graph stand. A value keeps its lane from the step that makes it to the last that reads it. */
typedef struct Lanes {
    int count; /* side by side */
    int lane[GRAPH_MOST];
    int last[GRAPH_MOST]; /* the last step that reads it; itself where none does */
} Lanes;
Lanes graph_lanes(const Graph *g);
bool graph_reads(const GraphStep *step, int other);

/* Colours are told apart in daylight, in the dark, and by most who see fewer of them. */
enum { COLOURS = 6 };
typedef struct Colour {
    const char *svg;    /* "#d55e00" */
    const char *dashes; /* of a line, so that colour is not all that tells them apart: "4 2"; "" for none */
    int terminal;       /* of 256 */
    char mark;
} Colour;
extern const Colour colours[COLOURS];

enum { SVG_LETTER = 8, SVG_LINE = 16, SVG_TEXT = 13 }; /* width of a column of text, line, and size of type */

#endif
