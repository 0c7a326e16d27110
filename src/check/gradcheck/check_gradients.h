/* All gradients of a case at a point, against differences. */
#ifndef GRADCHECK_CHECK_GRADIENTS_H
#define GRADCHECK_CHECK_GRADIENTS_H

#include "check/gradcheck/check_entries.h"

/* The elements to differentiate: all elements of all inputs. In a case with too many elements, a sample of each
 * input's elements moves alone, and all of them move together along a random direction. */
typedef struct Gradients {
    CheckRun *run;         /* computes the gradients */
    CheckRun *differences; /* its forward is differentiated: run itself, or the reference's run */
    Arena *arena;
    bool
        doubted; /* a point added by the checker: a wrong gradient counts only where the function is smooth, */
    double least; /* and only if it is off by more than this part of itself, or of 1 */

    long outputs, cotangents;
    bool whole, sampled;
    const real *cotangent;
    Entries element[CHECK_INPUTS], along[CHECK_INPUTS];
} Gradients;

/* Fills the parts of the report, and its verdict. The first four fields of *g are given. */
void check_gradients(Gradients *g, uint64_t seed, CaseReport *report);

/* Afterwards, with the runs at the same point: says what the wrong gradients look like. */
void check_gradients_explain(Gradients *g, uint64_t seed, CaseReport *report);

#endif
