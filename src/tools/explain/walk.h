/* The walk on a terminal: a model runs over a text, up to the loss of predicting each next token,
 * and the records of its tape are printed, or maps of its attention. */
#pragma once

#include "decoding/saved_run.h"
#include "explain/walk_records.h"

typedef struct WalkOptions {
    const char *text;   /* UTF-8; NULL: a sentence of its own */
    const char *run;    /* directory of a run; NULL: random weights */
    bool characters;    /* of the random model: tokens are characters, not words */
    bool modern;        /* it has byte pairs, rotary positions, RMS norm, query/key norm, SwiGLU */
    uint64_t seed;      /* of the random weights */
    const char *module; /* show modules whose names begin so; NULL: the first layer, and what is in
                           none */
    const char *step;   /* show the records with this name, operation or index; NULL: all */
    const char *cell;   /* "ROW,COLUMN" of the cell whose sum is shown; NULL: none */
    long head;          /* that is shown, from 1; of maps 0: all */
    bool backward;      /* in reverse, with gradients */
    bool full;          /* print all elements of matrices, and all that backward adds */
    bool json;          /* walk_records.h */
    bool maps;          /* of attention alone: of each head of a run */
} WalkOptions;

/* Prints the walk on stdout. STATUS_USAGE: an option names nothing that this model has.
 * STATUS_BAD_DATA: the text does not fit the vocabulary or the model. Otherwise it fails as
 * saved_run_open does. */
bool explain_walk(const WalkOptions *o, Error *e);

/* ---- Parts of the walk ---- */

enum { TEXT = 1600, MAX_LABEL = 12 };

/* A text as tokens. */
typedef struct WalkText {
    int32_t *id;
    Labels labels; /* as many as tokens */
} WalkText;

typedef struct Tour {
    const WalkOptions *options;
    Arena arena;             /* of the texts and the records */
    SavedRun run;            /* owns the model, a random one as well */
    WalkText source, target; /* a language model has no source */
    const char *text;
    Records records;
    bool brief;                   /* of wide matrices one row, of gradients no parts */
    long row, column;             /* of --cell; -1: none */
    char layer[PARAMETER_NAME];   /* the first: "encoder.layers.0."; "": there are no layers */
    long first_layer, last_layer; /* the first and the last record of a layer */
    bool *chosen;                 /* the records that are shown */
} Tour;

/* Makes tokens and model by the options, and runs forward: pass.c. */
bool walk_run(Tour *w, Error *e);

/* Prints how the tokenizer of byte pairs splits each different word of the text: merges.c.
 * STATUS_USAGE: the model has another tokenizer. */
bool walk_print_merges(const Tour *w, Error *e);

/* Prints lines in the characters of the terminal, broken at its width: step_values.c, as the
 * functions below. */
__attribute__((format(printf, 2, 3))) void step_say(int indent, const char *format, ...);

/* A tensor's name; a parameter's without that of the shown layer. */
const char *step_name(const Tour *w, const Tensor *x, char out[RECORD_NAME]);

/* Prints the shown part of x, with other values than its own. Without --full, rows and columns in
 * the middle are left out. */
void step_print_matrix(const Tour *w, const Tensor *x, const real *values);

/* The element of --cell in the shown part of x, -1 if it is outside; without --cell that of the
 * largest of `values`, if not NULL. */
long step_cell(const Tour *w, const Tensor *x, const real *values);

/* "Q[1,2]", with rows and columns of the head that the element is in. */
const char *step_element(const Tour *w, const Tensor *x, long element, char out[TEXT]);

/* Prints the sum of --cell: of the record's output (operand -1), or of what its backward adds to
 * the gradient of an operand. */
void step_print_sum(const Tour *w, Node *n, int operand);
