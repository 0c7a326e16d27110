/* Maps on a terminal: one line of characters a row, darker for larger values. */
#include "pictures/picture.h"
#include <math.h>

enum { MOST_ROWS = 64, ROW_LABEL = 16, COLUMN_LABEL = 8, WIDEST_CELL = 8 };

/* Shades from the least to the largest value. */
static const char *const ascii[] = {" ", ".", ":", "-", "=", "+", "*", "#", "%", "@"};
static const char *const blocks[] = {" ", "░", "▒", "▓", "█"};
static const int ramp[] = {16, 17,  18,  24,  30, 36,
                           72, 114, 156, 192, 229}; /* of 256 colours, ever brighter */

typedef struct Layout {
    int label, cell;                /* columns of a row label, and of a cell */
    bool upright;                   /* column labels run downwards */
    long group_rows, group_columns; /* a cell is the mean of so many */
} Layout;

static Layout lay_out(const HeatMap *m, const Terminal *t) {
    int share = t->width / 4 < ROW_LABEL ? t->width / 4 : ROW_LABEL;
    Layout l = {.label = map_widest(m->row_labels, m->rows, share, t->unicode)};
    long room = t->width - l.label - 1;
    if (room < 1) room = 1;
    int label = map_widest(m->column_labels, m->columns, LABEL_MOST, t->unicode);
    l.upright = label + 1 > WIDEST_CELL || (label + 1) * m->columns > room;
    l.cell = l.upright && 2 * m->columns > room ? 1 : 2;
    if (!l.upright && label + 1 > l.cell) l.cell = label + 1;
    l.group_columns = (m->columns + room - 1) / room;
    l.group_rows = (m->rows + MOST_ROWS - 1) / MOST_ROWS;
    return l;
}

static double mean(const HeatMap *m, const Layout *l, long row, long column) {
    double sum = 0, count = 0;
    for (long i = row; i < row + l->group_rows && i < m->rows; i++)
        for (long j = column; j < column + l->group_columns && j < m->columns; j++) {
            double v = (double)m->values[i * m->columns + j];
            if (isfinite(v)) sum += v, count++;
        }
    return count > 0 ? sum / count : NAN;
}

/* One of `count` shades for a place between 0 and 1. */
static int shade_of(double place, int count) {
    int shade = (int)(place * count);
    if (shade < 0) return 0;
    return shade < count ? shade : count - 1;
}

static void draw_cell(const Terminal *t, double place, int cell) {
    if (t->colour && !isnan(place))
        fprintf(t->out, "\033[48;5;%dm", ramp[shade_of(place, sizeof ramp / sizeof *ramp)]);
    const char *inside = " ";
    if (!isnan(place) && !t->colour)
        inside = t->unicode ? blocks[shade_of(place, sizeof blocks / sizeof *blocks)]
                            : ascii[shade_of(place, sizeof ascii / sizeof *ascii)];
    for (int i = 0; i < cell; i++) fputs(inside, t->out);
    if (t->colour && !isnan(place)) fputs("\033[0m", t->out);
}

/* Labels that run downwards: line k holds the k-th character of each. A cell too narrow for its character
 * is blank. */
static void upright_labels(const HeatMap *m, const Terminal *t, const Layout *l) {
    int lines = map_widest(m->column_labels, m->columns, COLUMN_LABEL, t->unicode);
    for (int line = 0; line < lines; line++) {
        bool any = false;
        fprintf(t->out, "%*s", l->label + 1, "");
        for (long j = 0; j < m->columns; j += l->group_columns) {
            Label label = map_label(m->column_labels, j, COLUMN_LABEL, t->unicode), one = {0};
            int columns = line < label.count ? character_columns(label.character[line]) : 0;
            if (columns > 0 && columns <= l->cell) one = (Label){1, columns, {label.character[line]}};
            any |= one.count > 0;
            label_padded(t->out, one, l->cell, false);
        }
        fputc('\n', t->out);
        if (!any) return;
    }
}

/* Numbers of the columns: as many as have room side by side. */
static void column_numbers(const HeatMap *m, const Terminal *t, const Layout *l) {
    int room = map_widest(NULL, m->columns, LABEL_MOST, t->unicode) + 1;
    long step = ((room + l->cell - 1) / l->cell) * l->group_columns;
    for (long j = 0; j < m->columns; j += step) {
        long cells =
            ((m->columns - j < step ? m->columns - j : step) + l->group_columns - 1) / l->group_columns;
        if (cells * l->cell >= room - 1) label_padded(t->out, label_number(j), (int)cells * l->cell, false);
    }
    fputc('\n', t->out);
}

static void column_labels(const HeatMap *m, const Terminal *t, const Layout *l) {
    if (m->column_labels && l->upright) {
        upright_labels(m, t, l);
        return;
    }
    fprintf(t->out, "%*s", l->label + 1, "");
    if (!m->column_labels) {
        column_numbers(m, t, l);
        return;
    }
    for (long j = 0; j < m->columns; j++)
        label_padded(t->out, map_label(m->column_labels, j, l->cell, t->unicode), l->cell, false);
    fputc('\n', t->out);
}

/* The values of the shades, and the meaning of rows, columns and cells. */
static void legend(const HeatMap *m, const Terminal *t, const Layout *l, const Axis *shades) {
    int steps =
        (int)(t->unicode && !t->colour ? sizeof blocks / sizeof *blocks : sizeof ascii / sizeof *ascii);
    fprintf(t->out, "%*s%.3g ", l->label + 1, "", shades->low);
    for (int i = 0; i < steps; i++) draw_cell(t, (i + 0.5) / steps, 1);
    fprintf(t->out, " %.3g\n", shades->high);
    char text[2 * LABEL_MOST];
    if (m->row_name && m->column_name) {
        snprintf(text, sizeof text, "%s down, %s across", m->row_name, m->column_name);
        draw_line(text, l->label + 1, t);
    }
    if (l->group_rows > 1 || l->group_columns > 1) {
        snprintf(text, sizeof text, "cell: mean of %ld x %ld", l->group_rows, l->group_columns);
        draw_line(text, l->label + 1, t);
    }
}

void draw_map(const HeatMap *m, const Terminal *t) {
    Layout l = lay_out(m, t);
    Axis shades = map_shades(m);
    column_labels(m, t, &l);
    for (long i = 0; i < m->rows; i += l.group_rows) {
        label_padded(t->out, map_label(m->row_labels, i, l.label, t->unicode), l.label, true);
        fputc(' ', t->out);
        for (long j = 0; j < m->columns; j += l.group_columns)
            draw_cell(t, axis_place(&shades, mean(m, &l, i, j)), l.cell);
        fputc('\n', t->out);
    }
    legend(m, t, &l, &shades);
}
