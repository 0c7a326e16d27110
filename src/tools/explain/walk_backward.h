/* Shared by the files of the walk backward. */
#pragma once

#include "explain/backward.h"
#include "explain/walk.h"

enum { BACKWARD_NAME = PARAMETER_NAME + 16 };

typedef struct Backward {
    WalkThrough *w;
    Node **node;                   /* [count], in the order of recording */
    char (*place)[PARAMETER_NAME]; /* the module of each: that of the last weight read until then */
    WalkText vocabulary;           /* for the text: labels of all ids */
    WalkSteps layer;               /* the matrices of the shown layer, for their names */
    long count, row, column;       /* --cell; -1: the largest gradient of each matrix */
} Backward;

/* Runs backward through what walk_read has recorded. b lives as long as w. */
bool walk_backward_start(Backward *b, WalkThrough *w, Error *e);

/* Prints the steps of the shown attention and of what else its layer does. */
void walk_backward_steps(const Backward *b);

/* Whether a gradient has arrived at the node. */
static inline bool walk_backward_reached(const Node *n) {
    return n->out->grad_state >= GRAD_FRESH;
}

/* The tokens of a matrix's rows or columns; NULL: it has other ones. */
const WalkText *walk_backward_tokens(const Backward *b, const Tensor *x, bool columns);

/* Sets the module of each node. */
void walk_backward_places(Backward *b);

/* "A", "softmax 41", "linear1.weight"; in JSON, or of another layer, "encoder.layers.0.linear1.weight" */
const char *walk_backward_name(const Backward *b, const Tensor *x, char out[BACKWARD_NAME]);

/* How many operations add to the gradient of x, and how many of them backward has visited up to node `at`. */
long walk_backward_parts(const Backward *b, const Tensor *x, long at, long *visited);

/* The element of --cell, or that of the largest gradient in the shown head; -1: --cell is outside. */
long walk_backward_cell(const Backward *b, const Tensor *x, const real *values);

/* The terms of that element of what node i adds to the gradient of input k, `values`. NULL: there is no such element, or the
 * operation is too large. */
BackwardTerm *walk_backward_terms(const Backward *b, long i, int k, const real *values, long *cell,
                                  long *count);

/* The cause of a gradient of 0: that of a cell of x, which ends at node `end` (backward_end). The name of its operation;
 * "positions": x holds them; "hidden": the mask has set the cell to -inf. */
const char *walk_backward_cause(const Backward *b, const Node *end, const Tensor *x, long cell);

/* Prints a step, of one that is not shown only what others may name; and terms. */
void walk_backward_json(const Backward *b, long i, bool shown);
void walk_backward_json_terms(const BackwardTerm *term, long count);
