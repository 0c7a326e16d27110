/* All gradients of a case at a point, against differences. */
#ifndef GRADCHECK_CHECK_GRADIENTS_H
#define GRADCHECK_CHECK_GRADIENTS_H

#include "check/gradcheck/check_entries.h"

/* Fills the parts of the report, and its verdict. Where a case has more elements than can be moved one by one in good
 * time, each input has a sample of them moved alone, and all of them together along a random direction. */
void check_gradients(CheckRun *run, Arena *arena, uint64_t seed, CaseReport *report);

#endif
