/* Analytic against numeric: the gradient of one input, entry by entry.
 *
 * An entry is a pair (cotangent, coordinate of the input). All entries of a coordinate come from the same
 * evaluations of the output at x ± h. */
#ifndef GRADCHECK_CHECK_ENTRIES_H
#define GRADCHECK_CHECK_ENTRIES_H

#include "gradcheck/check_entry.h"
#include "gradcheck/check_run.h"
#include "gradcheck/report.h"

typedef struct Entries {
    int input;
    /* Which elements the coordinates are; NULL: all of them, in their order. */
    const long *place;
    /* NULL, or for each input of the point the direction in which its elements move: then there is one coordinate, the
     * distance along it. NULL for an input that rests. */
    const real *const *direction;
    long cotangents, outputs, coordinates;
    bool whole;            /* cotangent 0 is random, cotangent 1 + i is 1 at output i: the whole Jacobian */
    const real *cotangent; /* [cotangents][outputs] */
    /* [cotangents][coordinates]; the diagnosis also wants the Jacobian's rows, [1 + outputs] of them where it is whole:
     * those beyond `cotangents` have a numeric value alone. */
    Entry *entry;
    EntryState *state; /* [coordinates]: what all entries of a coordinate say together */
    Doubt *doubt;      /* [coordinates] */
    double tolerance;  /* up to which the diagnosis takes numbers for equal; 0: CHECK_TOLERANCE */
} Entries;

/* Runs of forward that a coordinate takes, about. */
enum { CHECK_ENTRIES_RUNS = 20 };

/* The element of the input that is coordinate j. */
long check_entries_element(const Entries *e, long j);

/* Differentiates the run's output with respect to one input and judges every entry, whose analytic value is
 * given. Leaves the point as it was. */
void check_entries(CheckRun *run, Entries *e, Arena *arena);

#endif
