/* Maps as SVG. Each shade is one path of all its cells, so that a cell takes a few bytes, and an empty
 * cell none. */
#include "explain/pictures/picture.h"
#include <math.h>

enum { SHADES = 16, WIDE = 480, SMALLEST = 3, LARGEST = 26, ROW_LABEL = 16, COLUMN_LABEL = 12 };

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

/* The shade of a cell, 0 (none) to SHADES. */
static int shade_at(const HeatMap *m, const Axis *shades, long row, long column) {
    double place = axis_place(shades, m->values[row * m->columns + column]);
    return isnan(place) ? 0 : (int)lround(fmin(fmax(place, 0), 1) * SHADES);
}

/* Draws runs of cells of one shade as strokes, as thick as a row. */
static void cells(const HeatMap *m, FILE *out) {
    Axis shades = map_shades(m);
    for (int shade = 1; shade <= SHADES; shade++) {
        bool any = false;
        for (long i = 0; i < m->rows; i++)
            for (long j = 0, end; j < m->columns; j = end) {
                for (end = j + 1; end < m->columns; end++)
                    if (shade_at(m, &shades, i, end) != shade_at(m, &shades, i, j)) break;
                if (shade_at(m, &shades, i, j) != shade) continue;
                if (!any) fprintf(out, "<path stroke-opacity=\"%.4g\" d=\"", (double)shade / SHADES);
                any = true;
                fprintf(out, "M%ld %ld.5h%ld", j, i, end - j);
            }
        if (any) fputs("\"/>\n", out);
    }
}

void svg_map(const HeatMap *m, FILE *out) {
    Layout l = lay_out(m);
    Axis shades = map_shades(m);
    labels(m, &l, out);
    fprintf(out,
            "<g class=\"shade\" fill=\"none\" stroke=\"#1f77d0\" transform=\"translate(%.1f %.1f) "
            "scale(%.3f)\">\n",
            l.left, l.top, l.cell);
    cells(m, out);
    double width = (double)m->columns * l.cell, height = (double)m->rows * l.cell,
           legend = l.top + height + 8;
    fprintf(out,
            "</g>\n<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" fill=\"none\" "
            "stroke=\"currentColor\" "
            "stroke-opacity=\"0.4\"/>\n<g class=\"shade\" fill=\"none\" stroke=\"#1f77d0\" "
            "stroke-width=\"10\">\n",
            l.left, l.top, width, height);
    for (int shade = 1; shade <= SHADES; shade++)
        fprintf(out, "<path stroke-opacity=\"%.4g\" d=\"M%.1f %.1fh4\"/>\n", (double)shade / SHADES,
                l.left + 40 + 4 * (shade - 1), legend + 6);
    char number[2][24];
    snprintf(number[0], sizeof number[0], "%.3g", shades.low);
    snprintf(number[1], sizeof number[1], "%.3g", shades.high);
    fputs("</g>\n", out);
    svg_text(out, l.left + 35, legend + 11, " text-anchor=\"end\"", label_of(number[0], LABEL_MOST, true));
    svg_text(out, l.left + 45 + 4 * SHADES, legend + 11, "", label_of(number[1], LABEL_MOST, true));
}
