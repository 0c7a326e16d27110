/* Axes, labels and colours of drawings, on a terminal and as SVG. */
#include "pictures/picture.h"
#include <math.h>

Axis axis_over(double low, double high, bool log) {
    if (!(low <= high)) low = log ? 1 : 0, high = log ? 10 : 1;
    double least = fmax(fabs(low), fabs(high)) * 1e-9; /* closer values have no ticks between them */
    if (high - low <= least) {
        double more = low == 0 ? 1 : fabs(low) / 2;
        low -= more;
        high += more;
    }
    return (Axis){low, high, log};
}

double axis_place(const Axis *a, double value) {
    if (!isfinite(value) || (a->log && value <= 0)) return NAN;
    return a->log ? log(value / a->low) / log(a->high / a->low) : (value - a->low) / (a->high - a->low);
}

void axis_widen(double *low, double *high, double value, bool log) {
    if (!isfinite(value) || (log && value <= 0)) return;
    *low = fmin(*low, value);
    *high = fmax(*high, value);
}

/* Ticks at the least step of 1, 2 or 5 times a power of ten that needs at most `most`. */
static int even_ticks(const Axis *a, int most, double *ticks) {
    static const double factors[] = {1, 2, 5};
    double power = pow(10, floor(log10((a->high - a->low) / most)) - 1), slack = (a->high - a->low) * 1e-9;
    for (;; power *= 10)
        for (int f = 0; f < 3; f++) {
            double step = power * factors[f], first = ceil((a->low - slack) / step),
                   last = floor((a->high + slack) / step);
            if (last - first + 1 > most) continue;
            int count = 0;
            for (double i = first; i <= last; i++) ticks[count++] = i * step + 0.0; /* no -0 */
            return count;
        }
}

/* Powers of ten; every second, third, … if they are many. */
static int power_ticks(const Axis *a, int most, double *ticks) {
    double first = ceil(log10(a->low) - 1e-9), last = floor(log10(a->high) + 1e-9),
           step = ceil((last - first + 1) / most);
    int count = 0;
    for (double p = first; p <= last; p += step) ticks[count++] = pow(10, p);
    return count;
}

int axis_ticks(const Axis *a, int most, double *ticks) {
    int powers = a->log ? power_ticks(a, most, ticks) : 0;
    return powers < 2 ? even_ticks(a, most, ticks) : powers;
}

/* ---- Charts and maps ---- */

const Colour colours[COLOURS] = {
    {"#1f77d0", "none", 33, '*'},     {"#d55e00", "7 3", 208, '+'}, {"#008f68", "2 3", 36, 'o'},
    {"#a65fd0", "9 3 2 3", 134, 'x'}, {"#a0722a", "4 2", 136, '#'}, {"#808080", "1 2", 244, '%'},
    {"#c2185b", "6 2 1 2", 162, '@'}, {"#00838f", "1 4", 30, '&'},
};

double series_x(const Series *s, long i) {
    return s->x ? s->x[i] : (double)i;
}

void chart_axes(const LineChart *c, Axis *x, Axis *y) {
    double x_low = INFINITY, x_high = -INFINITY, y_low = INFINITY, y_high = -INFINITY;
    for (long s = 0; s < c->count; s++) {
        const Series *one = &c->series[s];
        for (long i = 0; i < one->count; i++) {
            axis_widen(&x_low, &x_high, series_x(one, i), c->log_x);
            axis_widen(&y_low, &y_high, one->y[i], c->log_y);
        }
    }
    if (c->y_low != c->y_high) y_low = c->y_low, y_high = c->y_high;
    *x = axis_over(x_low, x_high, c->log_x);
    *y = axis_over(y_low, y_high, c->log_y);
}

Axis map_shades(const HeatMap *m) {
    double low = m->low, high = m->high;
    if (low == high) {
        low = INFINITY, high = -INFINITY;
        for (long i = 0; i < m->rows * m->columns; i++) axis_widen(&low, &high, (double)m->values[i], false);
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

/* ---- Texts ---- */

void svg_text(FILE *out, double x, double y, const char *more, Label l) {
    fprintf(out, "<text x=\"%.1f\" y=\"%.1f\"%s>", x, y, more);
    label_markup(out, &l);
    fputs("</text>\n", out);
}

void draw_line(const char *text, int indent, const Terminal *t) {
    Label l = label_of(text, t->width > indent ? t->width - indent : 1, t->unicode);
    fprintf(t->out, "%*s", indent, "");
    label_write(t->out, &l);
    fputc('\n', t->out);
}
