/* A numeric derivative that knows its own error.
 *
 * A difference D(h) of values at x ± h differs from the derivative by a series in h: c₁h^p +
 * c₂h^2p + …, with p = 2 for the central difference (f(x+h) - f(x-h)) / 2h and p = 1 for a
 * one-sided one. With steps that halve, Richardson's extrapolation removes one term of the
 * series after the other:
 *
 *     T(l,0) = D(h_l),   T(l,k) = T(l,k-1) + (T(l,k-1) - T(l-1,k-1)) / (2^pk - 1)
 *
 * As h falls the truncation error falls and the rounding error grows. Ridders' rule (1982) takes
 * the T that agrees best with the two it is made of, and estimates its error by their distance.
 * The error by rounding, the caller's `noise`, is added as far as the extrapolation magnifies
 * it. Differences that double with every step are those of a jump, which has no derivative. */
#pragma once

#include "base/real.h"
#include <stdbool.h>

enum { EXTRAPOLATIONS = 8, CENTRAL = 2, ONE_SIDED = 1 };

/* The true error may be this many times the estimated one: Ridders' rule gives an estimate, not
 * a bound, and float leaves it few steps. */
#define SWEEP_TRUST (sizeof(real) == sizeof(double) ? 16 : 64)

/* One derivative, while the step falls. */
typedef struct Sweep {
    int order;                  /* p: CENTRAL or ONE_SIDED */
    int levels;                 /* differences so far */
    double row[EXTRAPOLATIONS]; /* the newest row of the triangle, T(levels-1, 0…) */
    double value, error; /* the best estimate so far and its error; infinite until there are two */
    double step;         /* at which it was found */
    double noise;        /* of the newest difference */
    int doubled;         /* number of newest differences that are each twice the one before */
} Sweep;

/* An empty sweep, for differences of this order. */
void sweep_start(Sweep *s, int order);

/* Adds the difference at the next step, half the previous one; noise: its error by rounding. */
void sweep_add(Sweep *s, double step, double difference, double noise);

/* True if smaller steps cannot help: the estimate is good to `relative`, or rounding is all that
 * is left. */
bool sweep_settled(const Sweep *s, double relative);
