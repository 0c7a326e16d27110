/* Decides whether an added point can accuse a gradient.
 *
 * The checker adds points to those of a case: larger values, zeros, the ends of a range. There a right file
 * may overflow, leave its domain, or meet a tie. A gradient is wrong at such a point only where forward is
 * finite, far from overflow, and has the same slope nearby. */
#ifndef GRADCHECK_CHECK_SMOOTH_H
#define GRADCHECK_CHECK_SMOOTH_H

#include "check/gradcheck/check_entries.h"

/* Whether every output of the last forward is a number far below overflow. */
bool check_smooth_outputs(const CheckRun *run);

/* Excuses the wrong coordinates of an input (state and doubt: unclear, a kink) unless the slope is the same
 * nearby and an entry is off by more than the part `least` of its size, or of 1. */
void check_smooth_excuse(CheckRun *differences, Entries *e, double least);

#endif
