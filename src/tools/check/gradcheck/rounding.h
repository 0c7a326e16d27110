/* The allowed distance of two right results.
 *
 * Two computations of the same number, with `unit` the distance from 1 to the next number, may
 * differ by roundings · unit · terms. terms is the size of the numbers that the result is made of:
 * its own size unless large numbers cancel. This rule judges everything but difference quotients,
 * which know their own error (numeric_derivative.h): properties, whose terms are the tensor's and
 * the output's largest numbers; a gradient whose derivative is known well (rules.def); a forward
 * beside another's, whose terms are measured by changing the last digits of the inputs. */
#pragma once

#include "base/real.h"
#include <math.h>
#include <stdbool.h>

/* Roundings of the same formula, its sums in another order. */
#define ROUNDINGS_OF_A_RUN 1e4

/* Whether two numbers are within the distance `room`. Equal infinities and two NaNs are. */
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
