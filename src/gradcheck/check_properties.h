/* What holds exactly for every correct operation, whatever its formula: no numeric derivative is needed.
 *
 *     zero          a cotangent of zero gives a gradient of exactly zero
 *     accumulates   backward adds to what a gradient holds
 *     stores fresh  … and where the gradient is marked fresh, what it holds does not matter
 *     read-only     forward and backward change no input, no output, no cotangent, nothing that was saved, and no memory
 *                   beside these; what is read there is NaN (tape->guard)
 *     repeatable    two runs give the same bits, whatever ran before the first and between them
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

#include "gradcheck/check_run.h"

/* The name of the first property that is broken, and how, written into text of `size` bytes; NULL if all
 * hold. */
const char *check_properties(CheckRun *run, Arena *arena, uint64_t seed, char *text, size_t size);

/* Whether `any process` holds, where `fresh` is a host that has run nothing. */
bool check_any_process(CheckRun *run, struct CheckHost *fresh, Arena *arena, uint64_t seed, char *text,
                       size_t size);

#endif
