#include "explain/show.h"
#include "formats/json.h"
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { SENTENCE = 1024, NUMBER_TEXT = 64, FORMULA_INDENT = 4 };

/* Texts align to the left, numbers to the right. A column without room on the line begins a further line,
 * in the head as in the rows. */
static void print_line(const Table *t, const char *const *texts) {
    enum { GAP = 2, INDENT = 4 };
    int width = terminal_of(stdout).width, at = 0, blank = 0;
    for (const Column *c = t->column; c->key; c++, texts++) {
        int length = (int)strlen(*texts), fill = c->width > length ? c->width - length : 0;
        bool first = c == t->column, breaks = !first && at + GAP + c->width > width;
        if (breaks)
            putchar('\n'), at = blank = INDENT;
        else if (!first)
            at += GAP, blank += GAP;
        if (c->decimals != AS_TEXT) blank += fill, fill = 0;
        if (length) printf("%*s%s", blank, "", *texts), blank = 0;
        blank += fill, at += c->width > length ? c->width : length;
    }
    putchar('\n');
}

static void heads(const Table *table, const char *format, va_list arguments) {
    char text[SENTENCE];
    const char *head[MOST_COLUMNS];
    vsnprintf(text, sizeof text, format, arguments);
    show_wrapped(text, 0);
    for (int i = 0; table->column[i].key; i++) head[i] = table->column[i].head;
    putchar('\n');
    print_line(table, head);
}

void show_start(const ExplainOptions *o, const Table *table, const char *format, ...) {
    char line[SENTENCE];
    if (o->json) return;
    show_wrapped(table->question, 0);
    putchar('\n');
    for (int at = 0, length; table->formula[at]; at += length + (table->formula[at + length] == '\n')) {
        length = (int)strcspn(table->formula + at, "\n");
        snprintf(line, sizeof line, "%.*s", length, table->formula + at);
        if (length + FORMULA_INDENT <= terminal_of(stdout).width)
            printf("%*s%s\n", FORMULA_INDENT, "", line);
        else
            show_wrapped(line, FORMULA_INDENT);
    }
    putchar('\n');
    va_list arguments;
    va_start(arguments, format);
    heads(table, format, arguments);
    va_end(arguments);
}

void show_head(const ExplainOptions *o, const Table *table, const char *format, ...) {
    va_list arguments;
    if (o->json) return;
    putchar('\n');
    va_start(arguments, format);
    heads(table, format, arguments);
    va_end(arguments);
}

static void row_as_json(const Table *table, const Cell *cell) {
    printf("{\"experiment\": \"%s\"", table->experiment);
    for (const Column *c = table->column; c->key; c++, cell++) {
        printf(", \"%s\": ", c->key);
        if (c->decimals == AS_TEXT)
            json_print(stdout, cell->text);
        else
            printf(isfinite(cell->number) ? "%.17g" : "null", cell->number);
    }
    printf("}\n");
}

static const char *cell_text(const Column *c, const Cell *cell, char number[NUMBER_TEXT]) {
    if (c->decimals == AS_TEXT) return cell->text;
    if (isnan(cell->number)) return "-";
    bool power = c->decimals == AS_POWER;
    snprintf(number, NUMBER_TEXT, power ? "%.*e" : "%.*f", power ? 1 : c->decimals, cell->number);
    return number;
}

void show_row(const ExplainOptions *o, const Table *table, const Cell *cells) {
    char number[MOST_COLUMNS][NUMBER_TEXT];
    const char *texts[MOST_COLUMNS];
    for (int i = 0; table->column[i].key; i++) texts[i] = cell_text(&table->column[i], &cells[i], number[i]);
    if (o->json)
        row_as_json(table, cells);
    else
        print_line(table, texts);
    fflush(stdout);
}

void show_array(const char *experiment, const char *name, const real *values, long count) {
    printf("{\"experiment\": \"%s\", \"array\": \"%s\", \"values\": [", experiment, name);
    for (long i = 0; i < count; i++) printf("%s%.17g", i ? ", " : "", (double)values[i]);
    printf("]}\n");
}

void show_wrapped(const char *text, int indent) {
    int width = terminal_of(stdout).width, column = 0;
    while (*text) {
        int word = (int)strcspn(text, " ");
        if (column > indent && column + 1 + word > width) column = 0, putchar('\n');
        column += column ? printf(" %.*s", word, text) : printf("%*s%.*s", indent, "", word, text);
        text += word + (int)strspn(text + word, " ");
    }
    putchar('\n');
}

bool show_pictures(const ExplainOptions *o, const Picture *p, long count, Error *e) {
    Terminal t = terminal_of(stdout);
    for (long i = 0; i < count && !o->json; i++) {
        putchar('\n');
        picture_draw(&p[i], &t);
        if (p[i].description) show_wrapped(p[i].description, 0);
    }
    return !o->svg || pictures_save(p, count, o->svg, e);
}

void show_found(const ExplainOptions *o, const Table *table, const char *format, ...) {
    char text[SENTENCE];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (o->json) {
        printf("{\"experiment\": \"%s\", \"found\": ", table->experiment);
        json_print(stdout, text);
        printf("}\n");
    } else {
        char line[SENTENCE + 8];
        snprintf(line, sizeof line, "Found: %s", text);
        putchar('\n');
        show_wrapped(line, 0);
    }
}
