/* Charts on a terminal: lines of marks over a grid of characters. */
#include "pictures/picture.h"
#include <math.h>

enum { HEIGHT = 15, WIDEST = 240, TICKS = 6, TICK_TEXT = 16, Y_LABEL = 9 };

/* Marks: 0 for none, else 1 + the index of the series. */
typedef struct Grid {
    int width;
    unsigned char mark[HEIGHT][WIDEST];
} Grid;

static int row_of(double place) {
    return (int)lround((1 - place) * (HEIGHT - 1));
}

/* Marks the points of a series, and the straight lines between them unless it is of points only. A point
 * outside the axes is left out, with the line to it. */
static void mark(Grid *g, const Series *s, const Axis *x, const Axis *y, unsigned char who) {
    double from_x = NAN, from_y = NAN;
    for (long i = 0; i < s->count; i++) {
        double to_x = axis_place(x, series_x(s, i)) * (g->width - 1), place = axis_place(y, s->y[i]);
        double to_y = place * (HEIGHT - 1);
        if (isnan(to_x) || isnan(place)) continue;
        if (place < -1e-9 || place > 1 + 1e-9) {
            from_x = NAN;
            continue;
        }
        if (s->points || isnan(from_x)) from_x = to_x, from_y = to_y;
        int steps = 1 + (int)fmax(to_x - from_x, fabs(to_y - from_y));
        for (int k = 1; k <= steps; k++) {
            double share = (double)k / steps;
            long up = lround(from_y + share * (to_y - from_y)),
                 column = lround(from_x + share * (to_x - from_x));
            g->mark[HEIGHT - 1 - up][column] = who;
        }
        from_x = to_x, from_y = to_y;
    }
}

static void put_mark(const Terminal *t, int who) {
    const Colour *c = &colours[who % COLOURS];
    if (t->colour)
        fprintf(t->out, "\033[38;5;%dm%c\033[0m", c->terminal, c->mark);
    else
        fputc(c->mark, t->out);
}

/* Numbers below the axis, each starting under its tick; a number that would touch the one before is left
 * out. */
static void x_numbers(const Terminal *t, const Axis *x, int width) {
    double ticks[TICKS];
    int count = axis_ticks(x, TICKS, ticks), at = 0;
    fprintf(t->out, "%*s ", Y_LABEL, "");
    for (int i = 0; i < count; i++) {
        char text[TICK_TEXT];
        int length = snprintf(text, sizeof text, "%.6g", ticks[i]),
            start = (int)lround(axis_place(x, ticks[i]) * (width - 1)) + 1;
        if (start + length > width + 1) start = width + 1 - length;
        if (i > 0 && start <= at) continue;
        fprintf(t->out, "%*s%s", start - at, "", text);
        at = start + length;
    }
    fputc('\n', t->out);
}

static void legend(const LineChart *c, const Terminal *t) {
    int at = 0;
    for (long s = 0; s < c->count; s++) {
        Label name = label_of(c->series[s].name, t->width - 4, t->unicode);
        if (at && at + name.columns + 4 > t->width) fputc('\n', t->out), at = 0;
        fputs("  ", t->out);
        put_mark(t, (int)(s % COLOURS));
        fputc(' ', t->out);
        label_write(t->out, &name);
        at += name.columns + 4;
    }
    fputc('\n', t->out);
}

static void draw_grid(const Grid *g, const Axis *y, const Terminal *t) {
    double ticks[TICKS];
    int count = axis_ticks(y, TICKS, ticks);
    for (int row = 0; row < HEIGHT; row++) {
        char text[TICK_TEXT] = "";
        for (int i = 0; i < count; i++)
            if (row_of(axis_place(y, ticks[i])) == row) snprintf(text, sizeof text, "%.5g", ticks[i]);
        fprintf(t->out, "%*s %s", Y_LABEL, text, t->unicode ? "│" : "|");
        int last = g->width;
        while (last > 0 && !g->mark[row][last - 1]) last--;
        for (int i = 0; i < last; i++)
            if (g->mark[row][i])
                put_mark(t, g->mark[row][i] - 1);
            else
                fputc(' ', t->out);
        fputc('\n', t->out);
    }
    fprintf(t->out, "%*s %s", Y_LABEL, "", t->unicode ? "└" : "+");
    for (int i = 0; i < g->width; i++) fputs(t->unicode ? "─" : "-", t->out);
    fputc('\n', t->out);
}

void draw_chart(const LineChart *c, const Terminal *t) {
    Grid g = {.width = t->width - Y_LABEL - 2};
    if (g.width > WIDEST) g.width = WIDEST;
    if (g.width < 2) g.width = 2;
    Axis x, y;
    chart_axes(c, &x, &y);
    for (long s = 0; s < c->count; s++) {
        unsigned char who = (unsigned char)(s % COLOURS + 1);
        mark(&g, &c->series[s], &x, &y, who);
    }
    if (c->y_name) draw_line(c->y_name, Y_LABEL + 1, t);
    draw_grid(&g, &y, t);
    x_numbers(t, &x, g.width);
    int end = g.width + Y_LABEL + 2 < t->width ? g.width + Y_LABEL + 2 : t->width;
    if (c->x_name) draw_line(c->x_name, end - label_of(c->x_name, end, t->unicode).columns, t);
    if (c->count > 1) legend(c, t);
}
