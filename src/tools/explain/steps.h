/* The walk on a terminal, and maps of a run. */
#pragma once

#include "explain/pass.h"

typedef struct StepOptions {
    PassOptions pass;
    const char *module; /* show modules whose names begin so; NULL: the first layer, and what is in
                           none */
    const char *step;   /* show the records with this name, operation or index; NULL: all */
    const char *cell;   /* "ROW,COLUMN" of the cell whose sum is shown; NULL: none */
    long head;          /* that is shown, from 1; of maps 0: all */
    bool backward;      /* in reverse, with gradients */
    bool full;          /* print all elements of matrices, and all that backward adds */
    bool json;          /* walk_records.h */
    bool maps;          /* of attention alone: of each head of a run */
} StepOptions;

/* Prints the walk on stdout. STATUS_USAGE: an option names nothing that this model has. Otherwise
 * it fails as walk_open does. */
bool explain_steps(const StepOptions *o, Error *e);

/* ---- What the walk prints of a record: step_values.c, for steps.c ---- */

enum { TEXT = 1600, MAX_LABEL = 12 };

typedef struct Show {
    const Records *records;
    const Pass *pass;
    const StepOptions *options;
    bool brief;                   /* of wide matrices one row, of gradients no parts */
    long row, column;             /* of --cell; -1: none */
    char layer[PARAMETER_NAME];   /* the first: "encoder.layers.0."; "": there are no layers */
    long first_layer, last_layer; /* the first and the last record of a layer */
    bool *chosen;                 /* the records that are shown */
} Show;

/* Prints lines in the characters of the terminal, broken at its width. */
__attribute__((format(printf, 2, 3))) void step_say(int indent, const char *format, ...);

/* A tensor's name; a parameter's without that of the shown layer. */
const char *step_name(const Show *s, const Tensor *x, char out[RECORD_NAME]);

/* Prints the shown part of x, with other values than its own. Without --full, rows and columns in
 * the middle are left out. */
void step_print_matrix(const Show *s, const Tensor *x, const real *values);

/* The element of --cell in the shown part of x, -1 if it is outside; without --cell that of the
 * largest of `values`, if not NULL. */
long step_cell(const Show *s, const Tensor *x, const real *values);

/* "Q[1,2]", with rows and columns of the head that the element is in. */
const char *step_element(const Show *s, const Tensor *x, long element, char out[TEXT]);

/* Prints the sum of --cell: of the record's output (operand -1), or of what its backward adds to
 * the gradient of an operand. */
void step_print_sum(const Show *s, Node *n, int operand);
