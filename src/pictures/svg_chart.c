/* Charts as SVG. */
#include "pictures/picture.h"
#include <math.h>

enum { WIDTH = 440, LEFT = 64, RIGHT = 12, TOP = 22, PLOT = 190, BELOW = 38, SAMPLE = 24, TICKS = 6 };

Size svg_chart_size(const LineChart *c) {
    long lines = c->count > 1 ? (c->count + 1) / 2 : 0;
    return (Size){WIDTH, TOP + PLOT + BELOW + (double)lines * SVG_LINE + 4};
}

/* `anchor`: start, middle or end. */
static void text(FILE *out, double x, double y, const char *anchor, const char *words) {
    char more[32];
    snprintf(more, sizeof more, " text-anchor=\"%s\"", anchor);
    svg_text(out, x, y, more, label_of(words, LABEL_MOST, true));
}

/* A tick: with separators where it is a whole number that has room for them. */
static const char *tick_text(char out[NUMBER_ROOM], double tick) {
    bool whole = tick == floor(tick) && fabs(tick) < 1e6;
    if (!whole) snprintf(out, NUMBER_ROOM, "%.5g", tick);
    return whole ? number_text(out, (long)tick) : out;
}

static double x_of(const Axis *a, double value) {
    return LEFT + axis_place(a, value) * (WIDTH - LEFT - RIGHT);
}

static double y_of(const Axis *a, double value) {
    return TOP + (1 - axis_place(a, value)) * PLOT;
}

static void axes(const LineChart *c, const Axis *x, const Axis *y, FILE *out) {
    double ticks[TICKS];
    char number[NUMBER_ROOM];
    fputs("<g stroke=\"currentColor\" stroke-opacity=\"0.2\">\n", out);
    int count = axis_ticks(y, TICKS, ticks);
    for (int i = 0; i < count; i++)
        fprintf(out, "<path d=\"M%d %.1fH%d\"/>\n", LEFT, y_of(y, ticks[i]), WIDTH - RIGHT);
    fprintf(out, "<path stroke-opacity=\"0.7\" d=\"M%d %dV%dH%d\" fill=\"none\"/>\n</g>\n", LEFT, TOP,
            TOP + PLOT, WIDTH - RIGHT);
    for (int i = 0; i < count; i++)
        text(out, LEFT - 6, y_of(y, ticks[i]) + 4, "end", tick_text(number, ticks[i]));
    count = axis_ticks(x, TICKS, ticks);
    for (int i = 0; i < count; i++) {
        bool at_end = x_of(x, ticks[i]) > WIDTH - RIGHT - 20;
        text(out, at_end ? WIDTH - 2 : x_of(x, ticks[i]), TOP + PLOT + 17, at_end ? "end" : "middle",
             tick_text(number, ticks[i]));
    }
    if (c->y_name) text(out, 2, 13, "start", c->y_name);
    if (c->x_name) text(out, WIDTH - 2, TOP + PLOT + 34, "end", c->x_name);
}

static bool within(const Axis *a, double value) {
    double place = axis_place(a, value);
    return place >= -1e-9 && place <= 1 + 1e-9;
}

/* Points outside the axes are left out, with the line to them. Points that are not finite are left out. */
static void draw_series(const Series *s, const Colour *colour, const Axis *x, const Axis *y, FILE *out) {
    bool pen_down = false;
    if (s->points)
        fprintf(out, "<g fill=\"%s\" fill-opacity=\"0.7\">\n", colour->svg);
    else
        fprintf(out,
                "<path fill=\"none\" stroke=\"%s\" stroke-width=\"2\" stroke-linejoin=\"round\""
                " stroke-dasharray=\"%s\" d=\"",
                colour->svg, colour->dashes);
    for (long i = 0; i < s->count; i++) {
        double at = series_x(s, i);
        if (isnan(axis_place(y, s->y[i]))) continue;
        bool seen = within(x, at) && within(y, s->y[i]);
        if (seen && s->points)
            fprintf(out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"2.5\"/>\n", x_of(x, at), y_of(y, s->y[i]));
        else if (seen)
            fprintf(out, "%c%.1f %.1f", pen_down ? 'L' : 'M', x_of(x, at), y_of(y, s->y[i]));
        pen_down = seen;
    }
    fputs(s->points ? "</g>\n" : "\"/>\n", out);
    if (s->marked) {
        Series marks = *s;
        marks.points = true, marks.marked = false;
        draw_series(&marks, colour, x, y, out);
    }
}

/* Two series a line. */
static void legend(const LineChart *c, FILE *out) {
    for (long s = 0; s < c->count; s++) {
        const Colour *colour = &colours[s % COLOURS];
        double x = s % 2 ? (LEFT + WIDTH) / 2. : LEFT,
               y = TOP + PLOT + BELOW + 12 + (double)(s / 2) * SVG_LINE;
        if (c->series[s].points)
            fprintf(out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3\" fill=\"%s\"/>\n", x + SAMPLE / 2., y - 4,
                    colour->svg);
        else
            fprintf(out,
                    "<path stroke=\"%s\" stroke-width=\"2\" stroke-dasharray=\"%s\" d=\"M%.1f %.1fh%d\"/>\n",
                    colour->svg, colour->dashes, x, y - 4, SAMPLE - 4);
        text(out, x + SAMPLE, y, "start", c->series[s].name);
    }
}

void svg_chart(const LineChart *c, FILE *out) {
    Axis x, y;
    chart_axes(c, &x, &y);
    axes(c, &x, &y, out);
    for (long s = 0; s < c->count; s++) draw_series(&c->series[s], &colours[s % COLOURS], &x, &y, out);
    if (c->count > 1) legend(c, out);
}
