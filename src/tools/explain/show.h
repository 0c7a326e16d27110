/* Output of the experiments: tables, maps and sentences, or JSON. Prose is ASCII. */
#pragma once

#include "base/real.h"
#include "explain/explain.h"
#include "explain/map.h"

enum { AS_TEXT = -1, AS_POWER = -2, MAX_COLUMNS = 10 };

typedef struct Column {
    const char *key;  /* name in JSON */
    const char *head; /* name in the table */
    int width;        /* texts are aligned to the left, numbers to the right */
    int decimals;     /* AS_POWER: printed as 1.2e-05; AS_TEXT: the column holds texts, in ASCII */
} Column;

typedef struct Table {
    const char *experiment, *question;
    const char *formula;            /* lines, indented by four blanks */
    Column column[MAX_COLUMNS + 1]; /* a NULL key ends them */
} Table;

typedef struct Cell {
    const char *text;
    double number; /* NAN: no value */
} Cell;

#define TEXT(s)                                                                                    \
    { .text = (s) }
#define NUMBER(x)                                                                                  \
    { .number = (double)(x) }

/* Begins a table: the question and the formula, if it has a question, a paragraph, and the heads of
 * its columns. Nothing in JSON. */
void show_start(const ExplainOptions *o, const Table *table, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Prints a row, one cell a column. In JSON a row is an object with the experiment's name. */
void show_row(const ExplainOptions *o, const Table *table, const Cell *cells);

/* In JSON alone: an array that the rows are computed from. */
void show_array(const ExplainOptions *o, const Table *table, const char *name, const real *values,
                long count);

/* Print members of a JSON object: "key": "text", with a comma; "values": […], in which a number
 * that is not finite is null. */
void show_text(const char *key, const char *text);
void show_values(const real *values, long count);

/* Prints text broken at the terminal's width, `indent` blanks before each line. */
void show_wrapped(const char *text, int indent);

/* Ends an experiment: prints each map with its description below, unless in JSON, and the
 * conclusion, one sentence. Returns true. */
bool show_found(const ExplainOptions *o, const Table *table, const Map *maps, int count,
                const char *format, ...) __attribute__((format(printf, 5, 6)));
