/* Products of what is at hand at a site (repair_sites.h) that give what the gradient lacks. */
#ifndef GRADING_REPAIR_FIT_H
#define GRADING_REPAIR_FIT_H

#include "grading/repair_sites.h"
#include "grading/repair_trials.h"

/* What a product would be there. */
typedef enum FitKind {
    FIT_ADDED,   /* added, times an amount */
    FIT_INSTEAD, /* in the place of what stands there, times an amount */
    FIT_TIMES,   /* what stands there, times it, and with an amount of itself more */
} FitKind;

/* What a factor is: where it is a number other forms of it may be meant; a count is an integer that a loop changes. */
typedef enum FactorKind { FACTOR_NUMBER, FACTOR_SIZE, FACTOR_CONDITION, FACTOR_COUNT } FactorKind;

/* All products of so many values, divisors among them. */
typedef struct Products {
    const Site *site;
    FitKind kind;
    int degree;
    int grade;                 /* of the product (repair_sites.h); -1: any */
    int factors, factor[POOL]; /* numbers in the pool, from 1; of two that are the same the first is taken */
    FactorKind is[POOL];
    double until; /* on the clock: what has not been tried by then is not */
} Products;

/* Those that need no other amount than a small fraction go to `to`, at most `room`; returns how many. */
long fit_products(const Products *p, TrialResult *to, long room);

#endif
