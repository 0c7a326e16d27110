#include "explain/pictures/draw.h"
#include <math.h>

const Colour colours[COLOURS] = {
    {"#1f77d0", "none", 33, '*'},     {"#d55e00", "7 3", 208, '+'}, {"#008f68", "2 3", 36, 'o'},
    {"#a65fd0", "9 3 2 3", 134, 'x'}, {"#a0722a", "4 2", 136, '#'}, {"#808080", "1 2", 244, '%'},
};

/* ---- Maps ---- */

Axis map_shades(const HeatMap *m) {
    double low = m->low, high = m->high;
    if (low == high) {
        low = INFINITY, high = -INFINITY;
        axis_widen(&low, &high, m->values, m->rows * m->columns, false);
    }
    return axis_over(low, high, false);
}

Label map_label(const char *const *labels, long at, int most, bool unicode) {
    return labels ? label_of(labels[at], most, unicode) : label_number(at);
}

int map_widest(const char *const *labels, long count, int most, bool unicode) {
    int widest = 1;
    for (long i = 0; i < count; i++) {
        int columns = map_label(labels, i, most, unicode).columns;
        widest = columns > widest ? columns : widest;
    }
    return widest;
}

/* ---- Charts ---- */

double series_x(const Series *s, long i) {
    return s->x ? s->x[i] : (double)i;
}

void chart_axes(const LineChart *c, Axis *x, Axis *y) {
    double x_low = INFINITY, x_high = -INFINITY, y_low = INFINITY, y_high = -INFINITY;
    for (long s = 0; s < c->count; s++) {
        const Series *one = &c->series[s];
        for (long i = 0; i < one->count; i++) {
            double at = series_x(one, i);
            axis_widen(&x_low, &x_high, &at, 1, c->log_x);
        }
        axis_widen(&y_low, &y_high, one->y, one->count, c->log_y);
    }
    if (c->y_low != c->y_high) y_low = c->y_low, y_high = c->y_high;
    *x = axis_over(x_low, x_high, c->log_x);
    *y = axis_over(y_low, y_high, c->log_y);
}

/* ---- SVG ---- */

void svg_text(FILE *out, double x, double y, const char *more, Label l) {
    fprintf(out, "<text x=\"%.1f\" y=\"%.1f\"%s>", x, y, more);
    label_markup(out, &l);
    fputs("</text>\n", out);
}
