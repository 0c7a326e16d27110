/* How experiments show what they found: tables, pictures and sentences, or JSON. */
#ifndef EXPLAIN_SHOW_H
#define EXPLAIN_SHOW_H

#include "base/real.h"
#include "explain/explain.h"
#include "explain/pictures/picture.h"

/* A column of a table. */
enum { AS_TEXT = -1, AS_POWER = -2 };
typedef struct Column {
    const char *key;  /* its name in JSON */
    const char *head; /* and at the head of the table */
    int width;        /* of a text, to the left; of a number, to the right */
    int decimals;     /* of a number; AS_POWER: as 1.2e-05; AS_TEXT: it is a text, in ASCII */
} Column;

typedef struct Cell {
    const char *text;
    double number; /* NAN: there is none */
} Cell;

#define TEXT(s)                                                                                              \
    { .text = (s) }
#define NUMBER(x)                                                                                            \
    { .number = (double)(x) }

/* The table's head, of at most 8 columns; the row of `count` cells under it. JSON has rows alone, each with the
 * experiment's name. */
void show_head(const ExplainOptions *o, const Column *columns, int count);
void show_row(const ExplainOptions *o, const char *experiment, const Column *columns, int count,
              const Cell *cells);

/* In JSON alone: an array that the rows were computed from. */
void show_array(const char *experiment, const char *name, const real *values, long count);

/* Prose, broken into lines at the terminal's width; nothing in JSON. */
void show_say(const ExplainOptions *o, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* A text in such lines, `indent` blanks before each. */
void show_wrapped(const char *text, int indent);

/* Draws the pictures, unless as JSON, and saves them where that is asked for. */
bool show_pictures(const ExplainOptions *o, const Picture *p, long count, Error *e);

/* The last line: what was found. */
void show_found(const ExplainOptions *o, const char *experiment, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
