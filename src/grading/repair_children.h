/* Many runs of trials at a place, in processes that may crash, end, loop or stop in any of them: what did is left out, and the
 * others are run. */
#ifndef GRADING_REPAIR_CHILDREN_H
#define GRADING_REPAIR_CHILDREN_H

#include "grading/repair_run.h"

/* Items in memory that all processes share; each says what came of it there. */
typedef struct TrialWork {
    const TrialPlace *place;
    long count;
    void *items;
    RepairTrial *(*trial)(const struct TrialWork *w, long i); /* that it tries */
    void (*run)(const struct TrialWork *w, TrialRun *r, long i);
    bool (*again)(const struct TrialWork *w,
                  long i); /* it ended its process: whether to run it once more; NULL: no */
    void (*drop)(const struct TrialWork *w, long i); /* it has no result */
    long *at;                                        /* the driver's */
} TrialWork;

/* Runs all items, `at_once` processes side by side, as far as some seconds go. */
void trial_work(TrialWork *w, int at_once);

#endif
