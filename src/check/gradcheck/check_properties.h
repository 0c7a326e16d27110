/* The checks of properties.def. */
#ifndef GRADCHECK_CHECK_PROPERTIES_H
#define GRADCHECK_CHECK_PROPERTIES_H

#include "check/gradcheck/check_run.h"
#include "check/gradcheck/report.h"

/* The name of a property, and its meaning in a few words. */
const char *check_property_name(Property which);
const char *check_property_meaning(Property which);

/* Whether it is checked of an operation, or of functions that return gradients. */
bool check_property_counts(Property which, bool functions);

/* Checks all properties but the first, and reports how they are broken. `fresh` is a host that has run nothing; NULL: the
 * last property is not checked. nondeterminism: what equal runs may differ by, as a part of their size. */
void check_properties(CheckRun *run, void *fresh, bool functions, Arena *arena, uint64_t seed,
                      double nondeterminism, CaseReport *report);

#endif
