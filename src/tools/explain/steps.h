/* The walk on a terminal, and maps of a run. */
#pragma once

#include "explain/pass.h"
#include "explain/walk_records.h"

typedef struct StepOptions {
    PassOptions pass;
    const char *module; /* show modules whose names begin so; NULL: the first layer, and what is in
                           none */
    const char *step;   /* show the records with this name, operation or index; NULL: all */
    const char *cell;   /* "ROW,COLUMN" of the cell whose sum is shown; NULL: none */
    long head;          /* that is shown, from 1; of maps 0: all */
    bool backward;      /* in reverse, with gradients */
    bool full;          /* print all elements of large matrices */
    bool json;          /* walk_records.h */
} StepOptions;

/* Prints the walk on stdout. STATUS_USAGE: an option names nothing that this model has. Otherwise
 * it fails as pass_open does. */
bool explain_steps(const StepOptions *o, Error *e);

/* Prints a map of each head of a run's attention over the text; an encoder-decoder answers it. */
bool explain_run(const StepOptions *o, Error *e);

/* ---- What the walk prints of a record: step_values.c, for steps.c ---- */

enum { TEXT = 1600, MAX_LABEL = 12 };

typedef struct Show {
    const Records *records;
    const Pass *pass;
    const StepOptions *options;
    long row, column;             /* of --cell; -1: none */
    char layer[PARAMETER_NAME];   /* the first: "encoder.layers.0."; "": there are no layers */
    long first_layer, last_layer; /* the first and the last record of a layer */
    bool everywhere;              /* --step is in other layers alone */
} Show;

/* Prints lines in the characters of the terminal, broken at its width. */
__attribute__((format(printf, 2, 3))) void step_say(int indent, const char *format, ...);

/* A tensor's name; a parameter's without that of the shown layer. */
const char *step_name(const Show *s, const Tensor *x, char out[RECORD_NAME]);

/* Whether the record only arranges the numbers of another. */
bool step_rearranges(const Node *n);

/* "matmul(a = Q, b = K^T)" */
const char *step_call(const Show *s, const Node *n, char out[TEXT]);

/* Prints the shown part of x, with other values than its own. Without --full, rows and columns in
 * the middle are left out. */
void step_print_matrix(const Show *s, const Tensor *x, const real *values);

/* Prints x's own values. */
void step_print_values(const Show *s, const Tensor *x);

/* The element of --cell in the shown part of x; -1: it is outside, or there is no --cell. */
long step_cell(const Show *s, const Tensor *x);

/* The element of --cell, or of the largest value in the shown part. */
long step_cell_or_largest(const Show *s, const Tensor *x, const real *values);

/* "Q[1,2]", with rows and columns of the head that the element is in. */
const char *step_element(const Show *s, const Tensor *x, long element, char out[TEXT]);

/* Prints the sum of a cell of a record, and its derivative by differences beside. */
void step_print_forward_cell(const Show *s, Node *n);

/* One cell of what node n adds to the gradient of operand k. */
void step_print_added_cell(const Show *s, Node *n, int k, const real *added);
