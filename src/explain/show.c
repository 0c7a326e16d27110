#include "explain/show.h"
#include "formats/json.h"
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { SENTENCE = 1024, NUMBER_TEXT = 64 };

static int signed_width(const Column *c) {
    return c->decimals == AS_TEXT ? -c->width : c->width;
}

void show_head(const ExplainOptions *o, const Column *columns, int count) {
    if (o->json) return;
    putchar('\n');
    for (int i = 0; i < count; i++)
        printf("%s%*s", i ? "  " : "", signed_width(&columns[i]), columns[i].head);
    putchar('\n');
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
    char number[NUMBER_TEXT];
    if (o->json) row_as_json(experiment, columns, count, cells);
    for (int i = 0; i < count && !o->json; i++)
        printf("%s%*s%s", i ? "  " : "", signed_width(&columns[i]), cell_text(&columns[i], &cells[i], number),
               i == count - 1 ? "\n" : "");
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
