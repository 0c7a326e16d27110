/* Ties: elements that share a kink.
 *
 * At a tie of a maximum each element alone may have any gradient between its one-sided derivatives, 0 and 1.
 * If all tied elements move together, the output moves by as much, so their gradients must add up to 1. In
 * general, along a direction v that moves all elements of a tie, Σ_j v_j dx_j must lie between the one-sided
 * derivatives along v.
 *
 * Elements are tied if the output's change for both together is not the sum of its changes for each.
 * Independent kinks at one point (two elements of relu at 0) are not a tie: each element may follow its own
 * convention. */
#ifndef GRADCHECK_CHECK_TIES_H
#define GRADCHECK_CHECK_TIES_H

#include "check/gradcheck/check_entries.h"

/* Checks the shares of all ties at a point with kinks; all[k] has the whole Jacobian of input k. Returns true if the
 * shares of a tie are wrong: then *input is one of its inputs, its elements are ENTRY_WRONG, and the text says how. */
bool check_ties(CheckRun *run, Entries *all, Arena *arena, int *input, char *text, size_t size);

#endif
