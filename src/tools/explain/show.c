#include "explain/show.h"
#include "formats/json.h"
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { SENTENCE = 1024, NUMBER_TEXT = 64, FORMULA_INDENT = 4 };

/* Texts align to the left, numbers to the right. A column without room on the line begins a further
 * line, in the head as in the rows. Blanks at the end of a line are not printed. */
static void print_line(const Table *t, const char *const *texts) {
    enum { GAP = 2, INDENT = 4 };
    int width = terminal_of(stdout).width, printed = 0, at = 0;
    for (int i = 0; t->column[i].key; i++) {
        const Column *c = &t->column[i];
        int length = (int)strlen(texts[i]), cell = c->width > length ? c->width : length;
        int begin = i ? at + GAP : 0;
        if (i && begin + c->width > width) {
            putchar('\n');
            printed = 0;
            begin = INDENT;
        }
        at = begin + cell;
        if (!length) continue;
        int text = c->decimals == AS_TEXT ? begin : at - length;
        printed += printf("%*s%s", text - printed, "", texts[i]);
    }
    putchar('\n');
}

static void show_formula(const char *formula) {
    for (int at = 0, length; formula[at]; at += length + (formula[at + length] == '\n')) {
        char line[SENTENCE];
        length = (int)strcspn(formula + at, "\n");
        snprintf(line, sizeof line, "%.*s", length, formula + at);
        if (length + FORMULA_INDENT <= terminal_of(stdout).width)
            printf("%*s%s\n", FORMULA_INDENT, "", line);
        else
            show_wrapped(line, FORMULA_INDENT);
    }
}

void show_start(const ExplainOptions *o, const Table *table, const char *format, ...) {
    char text[SENTENCE];
    const char *head[MAX_COLUMNS];
    va_list arguments;
    if (o->json) return;
    if (table->question) {
        show_wrapped(table->question, 0);
        putchar('\n');
        show_formula(table->formula);
    }
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    putchar('\n');
    show_wrapped(text, 0);
    putchar('\n');
    for (int i = 0; table->column[i].key; i++) head[i] = table->column[i].head;
    print_line(table, head);
}

static void row_as_json(const Table *table, const Cell *cell) {
    printf("{\"experiment\": \"%s\"", table->experiment);
    for (int i = 0; table->column[i].key; i++) {
        printf(", \"%s\": ", table->column[i].key);
        if (table->column[i].decimals == AS_TEXT)
            json_print(stdout, cell[i].text);
        else
            printf(isfinite(cell[i].number) ? "%.17g" : "null", cell[i].number);
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
    char number[MAX_COLUMNS][NUMBER_TEXT];
    const char *texts[MAX_COLUMNS];
    for (int i = 0; table->column[i].key; i++)
        texts[i] = cell_text(&table->column[i], &cells[i], number[i]);
    if (o->json)
        row_as_json(table, cells);
    else
        print_line(table, texts);
    fflush(stdout);
}

void show_text(const char *key, const char *text) {
    printf("\"%s\": ", key);
    json_print(stdout, text);
    fputs(", ", stdout);
}

void show_values(const real *values, long count) {
    printf("\"values\": [");
    for (long i = 0; i < count; i++)
        printf(isfinite(values[i]) ? "%s%.17g" : "%snull", i ? ", " : "", (double)values[i]);
    putchar(']');
}

void show_array(const ExplainOptions *o, const Table *table, const char *name, const real *values,
                long count) {
    if (!o->json) return;
    printf("{\"experiment\": \"%s\", \"array\": \"%s\", ", table->experiment, name);
    show_values(values, count);
    puts("}");
}

void show_wrapped(const char *text, int indent) {
    int width = terminal_of(stdout).width, column = 0;
    while (*text) {
        int word = (int)strcspn(text, " ");
        if (column > indent && column + 1 + word > width) {
            column = 0;
            putchar('\n');
        }
        column += column ? printf(" %.*s", word, text) : printf("%*s%.*s", indent, "", word, text);
        text += word + (int)strspn(text + word, " ");
    }
    putchar('\n');
}

bool show_found(const ExplainOptions *o, const Table *table, const Map *maps, int count,
                const char *format, ...) {
    char text[SENTENCE] = "Found: ";
    size_t begin = strlen(text);
    va_list arguments;
    for (int i = 0; i < count; i++) {
        if (o->json) break;
        putchar('\n');
        map_print(&maps[i]);
        if (maps[i].description) show_wrapped(maps[i].description, 0);
    }
    va_start(arguments, format);
    vsnprintf(text + begin, sizeof text - begin, format, arguments);
    va_end(arguments);
    if (o->json) {
        printf("{\"experiment\": \"%s\", \"found\": ", table->experiment);
        json_print(stdout, text + begin);
        puts("}");
    } else {
        putchar('\n');
        show_wrapped(text, 0);
    }
    return true;
}
