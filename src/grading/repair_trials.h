/* Runs of an edited source (edited_source.h), one a trial, in processes that may crash or loop: which of them give the gradient
 * that differences give. What passes here is no more than a candidate: it ran where a student's code runs. */
#ifndef GRADING_REPAIR_TRIALS_H
#define GRADING_REPAIR_TRIALS_H

#include "grading/check_cases.h"

/* A trial, and what it came to. */
typedef struct TrialResult {
    RepairTrial trial;
    bool open; /* the amount is to be found; it then is the trial's */
    unsigned
        mended; /* bit k: the gradient of input k is right wherever it was run, at first the bits of all that
                        are wrong somewhere */
    double price;
} TrialResult;

/* Where trials run: a case at a point, with the gradient as it has to be for one cotangent. */
typedef struct TrialPlace {
    const CheckPlan *plan; /* its library is the edited one */
    const CheckItem *item;
    uint64_t seed;
    int attempt; /* number of the point (check_point.h) */

    long outputs, gradients; /* numbers of the output, and of all gradients */
    long end[CHECK_INPUTS];  /* where each input's end */
    unsigned wrong;          /* bit k: the gradient of input k is, without an edit */
    real *dy, *y;            /* [outputs] */
    double *need, *found; /* [gradients] by differences, NaN where these know too little; without an edit */
    double *allowed;      /* [gradients] */
} TrialPlace;

/* Runs the case, and takes its gradient by differences. Memory is the arena's. False: it cannot be had, or it is too large to
 * be run so often. */
bool trial_place_measure(TrialPlace *p, Arena *arena);

/* Runs all trials there, `at_once` side by side, and keeps those that still mend something, with the amounts that do it, and make
 * nothing wrong. Returns how many. */
long trials_run(const TrialPlace *p, TrialResult *trial, long count, int at_once);

#endif
