/* All gradients of a case at a point, against differences. */
#ifndef GRADCHECK_CHECK_GRADIENTS_H
#define GRADCHECK_CHECK_GRADIENTS_H

#include "gradcheck/check_entries.h"

/* Fills the parts of the report, and its verdict. Where a case has more elements than can be moved one by one in good
 * time, each input has a sample of them moved alone, and all of them together along a random direction. */
void check_gradients(CheckRun *run, Arena *arena, uint64_t seed, CaseReport *report);

/* Whether the gradient is right at the run's point too, which is another than that of the report: along a random
 * direction through all inputs, for a random cotangent. False: the text says how it is not. For what is right at the first
 * point that is looked at only, because something was kept from there. */
bool check_other_point(CheckRun *run, Arena *arena, uint64_t seed, char *text, size_t size);

#endif
