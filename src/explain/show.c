#include "explain/show.h"
#include "formats/json.h"
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { SENTENCE = 1024, NUMBER_TEXT = 64, MOST_COLUMNS = 8 };

/* A line of the table: texts to the left, numbers to the right. Where the terminal has no room for a column beside the
 * others it begins a further line, in the head as in the rows. */
static void print_line(const Column *columns, int count, const char *const *texts) {
    enum { GAP = 2, INDENT = 4 };
    int width = terminal_of(stdout).width, at = 0, blank = 0;
    for (int i = 0; i < count; i++) {
        const Column *c = &columns[i];
        int length = (int)strlen(texts[i]), fill = c->width > length ? c->width - length : 0;
        bool breaks = i && at + GAP + c->width > width;
        if (breaks)
            putchar('\n'), at = blank = INDENT;
        else if (i)
            at += GAP, blank += GAP;
        if (c->decimals != AS_TEXT) blank += fill, fill = 0;
        if (length) printf("%*s%s", blank, "", texts[i]), blank = 0;
        blank += fill, at += c->width > length ? c->width : length;
    }
    putchar('\n');
}

void show_head(const ExplainOptions *o, const Column *columns, int count) {
    const char *heads[MOST_COLUMNS];
    if (o->json) return;
    for (int i = 0; i < count; i++) heads[i] = columns[i].head;
    putchar('\n');
    print_line(columns, count, heads);
}

static void row_as_json(const char *experiment, const Column *columns, int count, const Cell *cells) {
    printf("{\"experiment\": \"%s\"", experiment);
    for (int i = 0; i < count; i++) {
        printf(", \"%s\": ", columns[i].key);
        if (columns[i].decimals == AS_TEXT)
            json_print(stdout, cells[i].text);
        else
            printf(isfinite(cells[i].number) ? "%.17g" : "null", cells[i].number);
    }
    printf("}\n");
}

static const char *cell_text(const Column *c, const Cell *cell, char number[NUMBER_TEXT]) {
    if (c->decimals == AS_TEXT) return cell->text;
    if (isnan(cell->number)) return "-";
    snprintf(number, NUMBER_TEXT, c->decimals == AS_POWER ? "%.*e" : "%.*f",
             c->decimals == AS_POWER ? 1 : c->decimals, cell->number);
    return number;
}

void show_row(const ExplainOptions *o, const char *experiment, const Column *columns, int count,
              const Cell *cells) {
    char number[MOST_COLUMNS][NUMBER_TEXT];
    const char *texts[MOST_COLUMNS];
    for (int i = 0; i < count; i++) texts[i] = cell_text(&columns[i], &cells[i], number[i]);
    if (o->json)
        row_as_json(experiment, columns, count, cells);
    else
        print_line(columns, count, texts);
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

void show_say(const ExplainOptions *o, const char *format, ...) {
    if (o->json) return;
    char text[SENTENCE];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    show_wrapped(text, 0);
}

bool show_pictures(const ExplainOptions *o, const Picture *p, long count, Error *e) {
    Terminal t = terminal_of(stdout);
    for (long i = 0; i < count && !o->json; i++) {
        putchar('\n');
        picture_draw(&p[i], &t);
    }
    return !o->svg || pictures_save(p, count, o->svg, e);
}

void show_found(const ExplainOptions *o, const char *experiment, const char *format, ...) {
    char text[SENTENCE];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (o->json) {
        printf("{\"experiment\": \"%s\", \"found\": ", experiment);
        json_print(stdout, text);
        printf("}\n");
    } else {
        char line[SENTENCE + 8];
        snprintf(line, sizeof line, "Found: %s", text);
        putchar('\n');
        show_wrapped(line, 0);
    }
}
