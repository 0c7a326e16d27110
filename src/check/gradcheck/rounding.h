/* How far apart two right results may be.
 *
 * Who computes the same thing in another way, in numbers of which `unit` is the distance from 1 to the next one, may find
 *
 *     |a - b| ≤ roundings · unit · terms
 *
 * terms: the size of the numbers that the result is made of, its own unless large ones cancel; roundings: how many of
 * them may go the same way, each by a unit of that size. By this rule everything is judged here that is not a difference
 * quotient (those know their own error: numeric_derivative.h); what differs is how well the terms are known:
 *
 *     who                                   terms                                            roundings
 *     a run against another (properties)    the tensor's largest number, and the output's    ROUNDINGS_OF_A_RUN
 *     a gradient, its derivative known well the largest derivative, and the output           ROUNDINGS_OF_A_RUN
 *     a forward against another's (--like)  the output's largest number                      as CHECK_SHARP allows
 *     arrays in files (case_reference.h)    the answer to changes of all inputs              16
 *     a model's values (model_values.h)     the answer to changes of all weights             16
 *     float kernels (tests/check/ulps.c)    the answer to changes of each input              8
 *
 * The answer to changes: rounding in a computation that is numerically stable does what a change of its inputs in their
 * last digits would do. So these are changed, and it is run again. */
#ifndef GRADCHECK_ROUNDING_H
#define GRADCHECK_ROUNDING_H

#include "base/real.h"
#include <stdbool.h>

/* The same formula, its sums in another order. */
#define ROUNDINGS_OF_A_RUN 1e4

/* How far apart they may be. */
double rounding_room(double roundings, double unit, double terms);

/* Whether two numbers are within it. Equal infinities are, and so are two that are none. */
bool rounding_same(double a, double b, double room);

/* The first i for which found[i] and want[i] + add are not; -1: there is none. */
long rounding_differs(const real *found, const real *want, double add, long count, double room);

/* The largest finite |x_i|, 0 where there is none. */
double rounding_largest(const real *x, long count);

/* Keeps the largest change of a result in *moved; one that is not finite says nothing. */
void rounding_note(double *moved, double before, double after);

#endif
