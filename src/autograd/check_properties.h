/* What holds exactly for every correct operation, whatever its formula: no numeric derivative is needed.
 *
 *   - a cotangent of zero gives a gradient of exactly zero
 *   - backward is linear in the cotangent
 *   - backward adds to what a gradient holds, and a fresh gradient may hold anything
 *   - forward and backward change no input, no output, no cotangent, and nothing that they saved
 *   - two runs give the same bits
 *   - the layout of the inputs in memory changes nothing: strided, transposed, contiguous
 *   - one tensor passed twice gets the sum of the two gradients */
#ifndef AUTOGRAD_CHECK_PROPERTIES_H
#define AUTOGRAD_CHECK_PROPERTIES_H

#include "autograd/check_run.h"

/* The first property that is broken, in words, written into text of `size` bytes; NULL if all hold. */
const char *check_properties(CheckRun *run, Arena *arena, uint64_t seed, char *text, size_t size);

#endif
