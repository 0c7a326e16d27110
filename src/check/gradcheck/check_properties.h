/* The checks of properties.def. */
#ifndef GRADCHECK_CHECK_PROPERTIES_H
#define GRADCHECK_CHECK_PROPERTIES_H

#include "check/gradcheck/check_run.h"
#include "check/gradcheck/report.h"

/* Checks all properties but the first, and reports how they are broken. `fresh` is a host that has run nothing; NULL: the
 * last property is not checked. nondeterminism: what equal runs may differ by, as a part of their size. */
void check_properties(CheckRun *run, void *fresh, bool functions, Arena *arena, uint64_t seed,
                      double nondeterminism, CaseReport *report);

#endif
