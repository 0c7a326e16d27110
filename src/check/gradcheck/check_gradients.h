/* All gradients of a case at a point, against differences. */
#ifndef GRADCHECK_CHECK_GRADIENTS_H
#define GRADCHECK_CHECK_GRADIENTS_H

#include "check/gradcheck/entries.h"

/* The elements to differentiate: all elements of all inputs. In a case with too many elements, a sample of each
 * input's elements moves alone, and all of them move together along a random direction. */
typedef struct Gradients {
    CheckRun *run;         /* computes the gradients */
    CheckRun *differences; /* its forward is differentiated: run itself, or the reference's run */
    Arena *arena;
    uint64_t seed;
    /* The checker has added the point: a gradient is wrong there only where the function is smooth, and only if it is off
     * by more than the part `least` of itself, or of 1. */
    bool doubted;
    double least;

    long outputs, cotangents;
    bool whole, sampled;
    const real *cotangent;
    Entries element[CHECK_INPUTS], along[CHECK_INPUTS];
} Gradients;

/* Fills the parts of the report, and its verdict. The fields of *g up to `least` are given. */
void check_gradients(Gradients *g, CaseReport *report);

#endif
