#include "explain/screen.h"
#include "base/utf8.h"
#include <math.h>
#include <string.h>
#include <wchar.h>

void print_wrapped(const char *text, int indent) {
    int width = terminal_of(stdout).width;
    do {
        int length = (int)strcspn(text, "\n"), column = 0;
        const char *end = text + length;
        bool fits = indent + length <= width; /* then blanks are kept, as in a formula */
        if (fits) printf("%*s%.*s", indent, "", length, text);
        while (!fits && text < end) {
            int word = (int)strcspn(text, " \n");
            if (column > indent && column + 1 + word > width) {
                column = 0;
                putchar('\n');
            }
            column += printf("%*s%.*s", column ? 1 : indent, "", word, text);
            text += word + (int)strspn(text + word, " ");
        }
        putchar('\n');
        text = end + (*end == '\n');
    } while (*text);
}

/* ---- Labels ---- */

/* The character to show for c. */
static uint32_t shown(uint32_t c, bool unicode) {
    enum { REPLACEMENT = 0xFFFD, OPEN_BOX = 0x2423, RETURN = 0x21B5, TAB = 0x21E5 };
    if (c == ' ') return unicode ? OPEN_BOX : '_';
    if (c == '\n') return unicode ? RETURN : '/';
    if (!unicode) return c > ' ' && c < 0x7F ? c : '?';
    if (c == '\t') return TAB;
    bool is_shapeless = utf8_drives_terminal(c) || c >= NO_UTF8 || c == 0xFEFF || c == 0xFFFE;
    return is_shapeless ? REPLACEMENT : c;
}

int label_of(char out[LABEL_TEXT], const char *text, int max) {
    bool unicode = terminal_unicode(), is_blank = text[strspn(text, " \t\n")] == 0;
    size_t used = 0, cut = 0; /* cut: bytes that leave a column for an ellipsis */
    int columns = 0, cut_columns = 0;
    while (*text) {
        uint32_t c;
        text += utf8_symbol(text, strnlen(text, UTF8_MAX), &c);
        if (c != ' ' || is_blank) c = shown(c, unicode);
        int width = wcwidth((wchar_t)c);
        if (width < 0) width = 1; /* a character that the locale does not know */
        if (columns + width > max || used + 2 * UTF8_MAX > LABEL_TEXT) {
            used = cut + (size_t)sprintf(out + cut, unicode ? "…" : "~");
            columns = cut_columns + 1;
            break;
        }
        used += (size_t)utf8_encode(c, out + used);
        columns += width;
        if (columns == max) continue;
        cut = used;
        cut_columns = columns;
    }
    out[used] = 0;
    return columns;
}

int label_at(char out[LABEL_TEXT], const char *const *labels, long index, int max) {
    if (labels) return label_of(out, labels[index], max);
    return snprintf(out, LABEL_TEXT, "%ld", index);
}

int label_widest(const char *const *labels, long count, int max) {
    char label[LABEL_TEXT];
    int widest = 1;
    for (long i = 0; i < count; i++) {
        int columns = label_at(label, labels, i, max);
        if (columns > widest) widest = columns;
    }
    return widest;
}

void label_print(const char *const *labels, long index, int columns, bool right) {
    char label[LABEL_TEXT];
    int blank = columns - label_at(label, labels, index, columns);
    if (blank < 0) blank = 0;
    printf("%*s%s%*s", right ? blank : 0, "", label, right ? 0 : blank, "");
}

/* ---- Maps ---- */

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
    enum { MAX_ROWS = 64, MAX_SIDE = 16, MAX_CELL = 8 };
    Terminal t = terminal_of(stdout);
    int most = t.width / 4 < MAX_SIDE ? t.width / 4 : MAX_SIDE;
    int side = label_widest(m->row_labels, m->rows, most), width = t.width - side - 1;
    int cell = 1 + label_widest(m->column_labels, m->columns, MAX_CELL - 1);
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
        char label[LABEL_TEXT];
        if (label_at(label, m->column_labels, k, cell) > cell)
            printf("%*s", cell, "");
        else
            label_print(m->column_labels, k, cell, false);
    }
    putchar('\n');
    for (long i = 0; i < rows; i++) {
        label_print(m->row_labels, i, side, true);
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
