#include "explain/map.h"
#include <math.h>

Label map_label(const char *const *labels, long index, int max, bool unicode) {
    return labels ? label_of(labels[index], max, unicode) : label_number(index);
}

int map_widest(const char *const *labels, long count, int max, bool unicode) {
    int widest = 1;
    for (long i = 0; i < count; i++) {
        int columns = map_label(labels, i, max, unicode).columns;
        if (columns > widest) widest = columns;
    }
    return widest;
}

/* Prints a cell of a value between 0 and 1. */
static void print_cell(const Terminal *t, double value, int columns) {
    static const char *const ascii[] = {" ", ".", ":", "-", "=", "+", "*", "#", "%", "@"};
    static const char *const blocks[] = {" ", "░", "▒", "▓", "█"};
    static const int colours[] = {16, 17, 18, 24, 30, 36, 72, 114, 156, 192, 229}; /* of 256 */
    int shades = t->unicode ? 5 : 10;
    double shade = isnan(value) ? 0 : fmin(fmax(value, 0), 1 - 1e-9);
    const char *inside = t->unicode ? blocks[(int)(shade * shades)] : ascii[(int)(shade * shades)];
    bool is_coloured = t->colour && !isnan(value);
    if (is_coloured) printf("\033[48;5;%dm", colours[(int)(shade * 11)]);
    for (int i = 0; i < columns; i++) fputs(t->colour ? " " : inside, stdout);
    if (is_coloured) fputs("\033[0m", stdout);
}

void map_print(const Map *m) {
    enum { MAX_ROWS = 64, MAX_LABEL = 16, MAX_CELL = 8 };
    Terminal t = terminal_of(stdout);
    int side = map_widest(m->row_labels, m->rows, t.width / 4 < MAX_LABEL ? t.width / 4 : MAX_LABEL,
                          t.unicode);
    int cell = 1 + map_widest(m->column_labels, m->columns, MAX_CELL - 1, t.unicode);
    int width = t.width - side - 1;
    if (cell * m->columns > width) cell = 2 * m->columns > width ? 1 : 2;
    long columns = cell * m->columns > width ? width / cell : m->columns;
    long rows = m->rows < MAX_ROWS ? m->rows : MAX_ROWS;
    double low = m->low, high = m->high;
    long given = m->low == m->high ? 0 : m->rows * m->columns;
    for (long i = given; i < m->rows * m->columns; i++) {
        double value = (double)m->values[i];
        if (isfinite(value) && (value < low || low == high)) low = value;
        if (isfinite(value) && value > high) high = value;
    }
    printf("%s\n%*s ", m->title, side, "");
    for (long k = 0; k < columns; k++) {
        Label label = map_label(m->column_labels, k, cell, t.unicode);
        label_padded(stdout, label.columns > cell ? (Label){0} : label, cell, false);
    }
    putchar('\n');
    for (long i = 0; i < rows; i++) {
        label_padded(stdout, map_label(m->row_labels, i, side, t.unicode), side, true);
        putchar(' ');
        for (long k = 0; k < columns; k++)
            print_cell(&t, ((double)m->values[i * m->columns + k] - low) / (high - low), cell);
        putchar('\n');
    }
    printf("%*s %.3g ", side, "", low);
    for (int i = 0; i < 10; i++) print_cell(&t, (i + 0.5) / 10, 1);
    printf(" %.3g\n%*s %s down, %s across\n", high, side, "", m->row_name, m->column_name);
    if (rows < m->rows || columns < m->columns)
        printf("%*s %ld x %ld of %ld x %ld\n", side, "", rows, columns, m->rows, m->columns);
}
