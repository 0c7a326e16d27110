/* Analytic against numeric: the gradient of one input, entry by entry.
 *
 * An entry is a pair (cotangent, coordinate of the input). All entries of a coordinate come from the same
 * evaluations of the output at x ± h. */
#ifndef GRADCHECK_CHECK_ENTRIES_H
#define GRADCHECK_CHECK_ENTRIES_H

#include "check/gradcheck/check_entry.h"
#include "check/gradcheck/check_run.h"

/* Runs of forward that a coordinate takes, about. */
enum { CHECK_ENTRIES_RUNS = 20 };

/* Differentiates the run's output with respect to one input and judges every entry, whose analytic value is
 * given. Leaves the point as it was. */
void check_entries(CheckRun *run, Entries *e);

#endif
