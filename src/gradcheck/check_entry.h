/* What one entry says by itself. Internal to check_entries.h. */
#ifndef GRADCHECK_CHECK_ENTRY_H
#define GRADCHECK_CHECK_ENTRY_H

#include "gradcheck/check_entries.h"

/* Sets the entry's state and error. scale: the largest derivative for the same cotangent; floor: what rounding may hide
 * in an output of 0. */
void check_entry_judge(Entry *e, double scale, double floor);

/* Wrong, but within the tolerance for what is known less well. */
bool check_entry_small_error(const Entry *e);

/* Whether it says that the gradient is right. */
bool check_entry_confirms(const Entry *e);

/* Whether a result from smaller steps is to be believed rather than the one there is: if it confirms the
 * gradient, if it is more certain, or if the two contradict each other. A result that is only less certain
 * excuses nothing. */
bool check_entry_more_credible(const Entry *found, const Entry *known);

#endif
