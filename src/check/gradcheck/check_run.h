/* Runs of a check case at a point, by a runner in this process or elsewhere (job.h); callers see no difference. */
#ifndef GRADCHECK_CHECK_RUN_H
#define GRADCHECK_CHECK_RUN_H

#include "check/gradcheck/job.h"

struct CheckRun {
    const char *op;
    const CheckCase *c;
    const CheckPoint *point;
    JobRunner *runner;
    void *where;  /* for the runner */
    long at_once; /* runs of a job; grows and shrinks so that a job takes a moment; 0: any number */
    JobWays ways;
    const char *stage; /* names the property under test if the run ends; NULL: the operation itself */
    bool explaining;   /* the verdict is known: a crash no longer changes it */

    Result result;    /* of the last job */
    Tensor *y;        /* the output of the last check_run_forward, which owns it */
    long nodes;       /* on the tape, after the last job */
    long evaluations; /* of forward, in all */
    long planned;     /* the expected number */

    /* The gradients of the very first backward, whose cotangent is first_dy: one array for each input with a gradient. */
    const real *first_dy, *first_grad[CHECK_INPUTS];
};

/* Does a job in the ways of the run; r->result has what came of it, until the next job. */
void check_run_job(CheckRun *r, Job job);

/* Runs forward at the point. */
Tensor *check_run_forward(CheckRun *r);
void check_run_free(CheckRun *r);

/* Ends with an error if the last job's output has another number of elements than expected. */
void check_run_has_outputs(const CheckRun *r, long outputs);

/* A random cotangent: signed, of sizes in [0.5, 1.5), so that no part of a gradient is hidden by a weight
 * near 0. */
void check_run_cotangent(real *dy, long outputs, uint64_t seed, uint64_t number);

/* A random direction of about unit length: signed, of sizes in [0.5, 1.5) / √count. */
void check_run_direction(real *v, long count, uint64_t key);

#endif
