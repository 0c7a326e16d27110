/* The allowed distance of two right results.
 *
 * Two computations of the same number, with `unit` the distance from 1 to the next number, may
 * differ by
 *
 *     |a - b| ≤ roundings · unit · terms
 *
 * terms is the size of the numbers that the result is made of: its own size unless large numbers
 * cancel. roundings is the number of units that may add up. This rule judges everything but
 * difference quotients, which know their own error (numeric_derivative.h):
 *
 *     compared                              terms roundings a run against another (properties) the
 * tensor's largest number, and the output's    ROUNDINGS_OF_A_RUN a gradient, its derivative known
 * well the largest derivative, and the output           ROUNDINGS_OF_A_RUN a forward against
 * another's (--like)  the largest output, and the answer to changes     ROUNDINGS_OF_A_RUN arrays
 * in files (expected.h)          the answer to changes of all inputs, or weights  16 float kernels
 * (tests/check/ulps.c)    the answer to changes of each input              8
 *
 * The answer to changes is measured: the computation runs again with its inputs' last digits
 * changed, because in a stable computation rounding has the same effect. */
#pragma once

#include "base/real.h"
#include <math.h>
#include <stdbool.h>

/* The same formula, its sums in another order. */
#define ROUNDINGS_OF_A_RUN 1e4

/* The allowed distance. */
static inline double rounding_room(double roundings, double unit, double terms) {
    return roundings * unit * terms;
}

/* Whether two numbers are within it. Equal infinities and two NaNs are. */
static inline bool rounding_same(double a, double b, double room) {
    return a == b || fabs(a - b) <= room || (isnan(a) && isnan(b));
}

/* The largest finite |x_i|; 0: none. */
static inline double rounding_largest(const real *x, long count) {
    double largest = 0;
    for (long i = 0; i < count; i++)
        if (isfinite(x[i])) largest = fmax(largest, fabs((double)x[i]));
    return largest;
}

/* Keeps the largest finite change of a result in *moved. */
static inline void rounding_note(double *moved, double before, double after) {
    double change = fabs(after - before);
    if (isfinite(change)) *moved = fmax(*moved, change);
}
