/* Properties of every correct operation, whatever its formula. They need no numeric derivative.
 *
 *     forward       the output is the reference's, where there is one
 *     read-only     forward and backward change no input, no output, no cotangent, and no memory beside these; what is read
 *                   there is NaN (tape->guard)
 *     repeatable    two runs give the same bits, whatever ran before the first and between them
 *     saved values  backward changes nothing that forward saved
 *     zero          a cotangent of zero gives a gradient of exactly zero
 *     accumulates   backward adds to what a gradient holds
 *     stores fresh  … and where the gradient is marked fresh, what it holds does not matter
 *     linear        backward is linear in the cotangent
 *     any layout    inputs may lie in memory as they like: strided, transposed, contiguous
 *     inside a graph  the same where the inputs are outputs of other operations, whose gradients are the tape's
 *     passed twice  one tensor as two inputs gets the sum of their gradients
 *     two on a tape  each of two that wait for their backward has kept what it needs
 *     beside constants  an input that takes no gradient changes nothing for the others
 *     any process   another point has the same gradient in a process where it is the first that is looked at
 */
#ifndef GRADCHECK_CHECK_PROPERTIES_H
#define GRADCHECK_CHECK_PROPERTIES_H

#include "check/gradcheck/check_run.h"
#include "check/gradcheck/report.h"

/* "accumulates", and what that means in a few words. */
const char *check_property_name(Property which);
const char *check_property_meaning(Property which);

/* Looks at all properties but the first, and writes into the report how they are broken. `fresh` is a host
 * that has run nothing; NULL: whether the last one holds is not looked at. */
void check_properties(CheckRun *run, CheckHost *fresh, Arena *arena, uint64_t seed, CaseReport *report);

#endif
