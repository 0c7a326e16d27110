/* Trials of an edited source (edited_source.h), each at a place: which of them give the gradient that differences give. What
 * passes here is no more than a candidate: it ran where a student's code runs. */
#ifndef GRADING_REPAIR_TRIALS_H
#define GRADING_REPAIR_TRIALS_H

#include "grading/repair_run.h"

/* A trial, and what it came to. */
typedef struct TrialResult {
    RepairTrial trial;
    bool open; /* the amount is to be found; it then is the trial's */
    unsigned
        mended; /* bit k: the gradient of input k is right wherever it was run, at first the bits of all that are wrong
                        somewhere */
    double price;
} TrialResult;

/* Runs all trials there, `at_once` side by side, and keeps those that still mend something, with the amounts that do it, and make
 * nothing wrong. Returns how many. */
long trials_run(const TrialPlace *p, TrialResult *trial, long count, int at_once);

/* The small fraction that this is as far as differences know, as somebody would write an amount; anything else is a number in
 * disguise: NaN. */
double trial_amount(double amount);

#endif
