/* Properties of every correct operation. They need no numeric derivative.
 *
 *     forward           the output is the reference's
 *     read-only         forward and backward change no input, output or cotangent, and no memory beside them, which holds NaN
 *     repeatable        every run gives the same bits, whatever ran before it
 *     saved values      backward does not change what forward saved
 *     zero              a cotangent of 0 gives a gradient of exactly 0
 *     accumulates       backward adds to the gradient
 *     stores fresh      backward overwrites a gradient that is marked fresh
 *     linear            backward is linear in the cotangent
 *     any layout        inputs may be strided, transposed or contiguous
 *     inside a graph    inputs may be outputs of other operations
 *     passed twice      a tensor that is two inputs gets the sum of their gradients
 *     two on a tape     two nodes recorded before either's backward save their values apart
 *     beside constants  an input without a gradient does not change the gradients of the others
 *     any process       a fresh process gives the same gradient at another point */
#ifndef GRADCHECK_CHECK_PROPERTIES_H
#define GRADCHECK_CHECK_PROPERTIES_H

#include "check/gradcheck/check_run.h"
#include "check/gradcheck/report.h"

/* The name of a property, and its meaning in a few words. */
const char *check_property_name(Property which);
const char *check_property_meaning(Property which);

/* Checks all properties but the first, and reports how they are broken. `fresh` is a host that has run nothing; NULL: the
 * last property is not checked. */
void check_properties(CheckRun *run, CheckHost *fresh, Arena *arena, uint64_t seed, CaseReport *report);

#endif
