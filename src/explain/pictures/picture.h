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
#include "explain/pictures/kinds.h"
#include "explain/pictures/terminal.h"
#include <stdio.h>

typedef enum PictureKind {
    PICTURE_MAP,
    PICTURE_CHART,
    PICTURE_BARS,
    PICTURE_ARCS,
    PICTURE_GRAPH
} PictureKind;

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
