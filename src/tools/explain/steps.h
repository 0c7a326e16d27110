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
    bool full;          /* print all elements of large matrices */
    bool json;          /* walk_records.h */
} StepOptions;

/* Prints the walk on stdout. STATUS_USAGE: an option names nothing that this model has. Otherwise
 * it fails as pass_open does. */
bool explain_steps(const StepOptions *o, Error *e);

/* Prints a map of each head of a run's attention over the text; an encoder-decoder answers it. */
bool explain_run(const StepOptions *o, Error *e);
