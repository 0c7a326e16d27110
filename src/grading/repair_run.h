/* Runs of an edited source (edited_source.h): a place to run it, what its gradient has to be there, and a run of one trial. */
#ifndef GRADING_REPAIR_RUN_H
#define GRADING_REPAIR_RUN_H

#include "gradcheck/check_run.h"
#include "grading/check_cases.h"

/* A case at a point, with the gradient as it has to be for one cotangent. */
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
    double *allowed;      /* [gradients] by how much what is right may differ */
} TrialPlace;

/* Runs the case, and takes its gradient by differences. Memory is the arena's. False: it cannot be had, or it is too large to
 * be run so often. */
bool trial_place_measure(TrialPlace *p, Arena *arena);

/* Whether numbers [from, to) are as they have to be. */
bool trial_place_agrees(const TrialPlace *p, const double *found, long from, long to);

/* The place's case in this process, which may end at any of its runs: what is tried may crash, and what takes far longer than a
 * run without an edit is ended by a signal. */
typedef struct TrialRun {
    const TrialPlace *place;
    Arena arena;
    CheckPoint point;
    CheckRun run;
    RepairTrial *set; /* in the library */
    const real *dy;   /* [outputs] the cotangent of the next runs, at first the place's */
    double seconds;   /* that a run may take; 0: any */
    double armed;     /* on the clock: when the timers that end it were set */

    double *found; /* [gradients] of the last run */
    real *y;       /* [outputs] */
} TrialRun;

/* Makes the first run, without an edit, and takes its time. False: the library has no edits to be chosen. */
bool trial_run_open(TrialRun *r, const TrialPlace *p);

/* A run with this edit. False: its output is not what it was without. */
bool trial_run(TrialRun *r, const RepairTrial *trial);

#endif
