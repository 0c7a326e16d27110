/* Ties: elements that share a kink.
 *
 * At a tie of a maximum each element alone may have any gradient between 0 and 1, its one-sided derivatives; but all tied
 * elements moved together move the output by as much, so that their gradients have to add up to 1. In general: along a
 * direction v that moves all elements of a tie, Σ_j v_j dx_j has to lie between the one-sided derivatives along v.
 *
 * Elements belong to a tie if the output's answer to both together is not the sum of its answers to each. Kinks that
 * only happen to be at one point (two elements of relu at 0) are no tie: there a convention for each is a gradient. */
#ifndef GRADCHECK_CHECK_TIES_H
#define GRADCHECK_CHECK_TIES_H

#include "check/gradcheck/check_entries.h"

/* Checks the shares of all ties at a point with kinks; all[k] has the whole Jacobian of input k. True if those of a tie are
 * wrong: *input is one of its inputs, its elements are set to ENTRY_WRONG, and the text says how. */
bool check_ties(CheckRun *run, Entries *all, Arena *arena, int *input, char *text, size_t size);

#endif
