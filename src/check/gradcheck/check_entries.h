/* Analytic against numeric: the gradient of one input, entry by entry. All entries of a coordinate come from the same
 * evaluations of the output at x ± h. */
#ifndef GRADCHECK_CHECK_ENTRIES_H
#define GRADCHECK_CHECK_ENTRIES_H

#include "check/gradcheck/check_run.h"
#include "check/gradcheck/entries.h"

/* Approximate number of forward runs for one coordinate. */
enum { CHECK_ENTRIES_RUNS = 20 };

/* Differentiates the run's output with respect to one input and judges every entry. The caller sets the
 * analytic values. The point is unchanged afterwards. */
void check_entries(CheckRun *run, Entries *e);

#endif
