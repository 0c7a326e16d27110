/* Maps as SVG. */
#include "pictures/picture.h"
#include <math.h>

enum { WIDE = 480, SMALLEST = 3, LARGEST = 26, ROW_LABEL = 16, COLUMN_LABEL = 12 };

typedef struct Layout {
    double cell, left, top;     /* pixels: side of a cell, place of the first */
    long row_step, column_step; /* labels have room at every so many */
    bool upright;
} Layout;

static Layout lay_out(const HeatMap *m) {
    long longest = m->columns > m->rows ? m->columns : m->rows;
    Layout l = {.cell = fmin(fmax(floor((double)WIDE / (double)(longest ? longest : 1)), SMALLEST), LARGEST)};
    int label = map_widest(m->column_labels, m->columns, COLUMN_LABEL, true);
    l.upright = m->column_labels && label * SVG_LETTER > l.cell;
    l.left =
        map_widest(m->row_labels, m->rows, ROW_LABEL, true) * SVG_LETTER + 10 + (m->row_name ? SVG_LINE : 0);
    l.top = (l.upright ? label * SVG_LETTER : SVG_LINE) + 6 + (m->column_name ? SVG_LINE : 0);
    l.row_step = (long)ceil(SVG_LINE / l.cell);
    l.column_step = m->column_labels ? l.row_step : (long)ceil((label + 1) * SVG_LETTER / l.cell);
    return l;
}

Size svg_map_size(const HeatMap *m) {
    Layout l = lay_out(m);
    return (Size){fmax(l.left + (double)m->columns * l.cell + 2, 180),
                  l.top + (double)m->rows * l.cell + 2 * SVG_LINE};
}

static void labels(const HeatMap *m, const Layout *l, FILE *out) {
    for (long i = 0; i < m->rows; i += l->row_step)
        svg_text(out, l->left - 5, l->top + ((double)i + 0.5) * l->cell + 4, " text-anchor=\"end\"",
                 map_label(m->row_labels, i, ROW_LABEL, true));
    for (long j = 0; j < m->columns; j += l->column_step) {
        double x = l->left + ((double)j + 0.5) * l->cell, y = l->top - 5;
        char turn[96] = " text-anchor=\"middle\"";
        if (l->upright) snprintf(turn, sizeof turn, " transform=\"rotate(-90 %.1f %.1f)\"", x + 4, y);
        svg_text(out, l->upright ? x + 4 : x, y, turn, map_label(m->column_labels, j, COLUMN_LABEL, true));
    }
    double middle_x = l->left + (double)m->columns * l->cell / 2,
           middle_y = l->top + (double)m->rows * l->cell / 2;
    if (m->column_name)
        svg_text(out, middle_x, SVG_LINE - 3, " text-anchor=\"middle\" font-style=\"italic\"",
                 label_of(m->column_name, LABEL_MOST, true));
    char turn[96];
    snprintf(turn, sizeof turn,
             " text-anchor=\"middle\" font-style=\"italic\" transform=\"rotate(-90 %d %.1f)\"", SVG_LINE - 4,
             middle_y);
    if (m->row_name) svg_text(out, SVG_LINE - 4, middle_y, turn, label_of(m->row_name, LABEL_MOST, true));
}

/* A stroke for each cell, as thick as a row, and darker for larger values. */
static void cells(const HeatMap *m, const Axis *shades, FILE *out) {
    for (long i = 0; i < m->rows; i++)
        for (long j = 0; j < m->columns; j++) {
            double place = axis_place(shades, (double)m->values[i * m->columns + j]);
            if (place >= 0.005)
                fprintf(out, "<path stroke-opacity=\"%.2g\" d=\"M%ld %ld.5h1\"/>\n", fmin(place, 1), j, i);
        }
}

void svg_map(const HeatMap *m, FILE *out) {
    Layout l = lay_out(m);
    Axis shades = map_shades(m);
    double width = (double)m->columns * l.cell, height = (double)m->rows * l.cell;
    char range[64];
    labels(m, &l, out);
    fprintf(out,
            "<g class=\"shade\" fill=\"none\" stroke=\"#1f77d0\" transform=\"translate(%.1f %.1f) "
            "scale(%.3f)\">\n",
            l.left, l.top, l.cell);
    cells(m, &shades, out);
    fprintf(out,
            "</g>\n<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" fill=\"none\" "
            "stroke=\"currentColor\" stroke-opacity=\"0.4\"/>\n",
            l.left, l.top, width, height);
    snprintf(range, sizeof range, "empty: %.3g, full: %.3g", shades.low, shades.high);
    svg_text(out, l.left, l.top + height + 19, "", label_of(range, LABEL_MOST, true));
}
