/* A check case on a tape of this process: its inputs lie in memory as a point says, its
 * operation is recorded there and runs forward and backward.
 *
 * Every input lies in a block of its own, with guards around it and, where it is stepped, gaps
 * between its elements. Guards and gaps of values hold NaN, which a wrong read carries into the
 * result. Guards of gradients hold a number, so that a wrong write is detected. */
#pragma once

#include "check/gradcheck/job.h"

typedef struct CaseInput {
    Tensor tensor; /* what the operation gets; tensor.grad is NULL for a constant */
    real *block;   /* guard, values with gaps, guard */
    long block_count;
    real *grad_block; /* guard, gradient, guard */
} CaseInput;

typedef struct TapeRunner {
    const char *op;
    const CheckCase *c;
    Tape *tape;
    Arena arena;                       /* of the inputs */
    CaseInput in[2][CHECK_INPUTS];     /* [1]: of the second of two that are recorded together */
    Tensor *y[2], *x[2][CHECK_INPUTS]; /* output and inputs, as build has them */
} TapeRunner;

/* To be freed with tape_runner_free. */
TapeRunner tape_runner_new(const char *op, const CheckCase *c);
void tape_runner_free(TapeRunner *t);

/* A JobRunner; `where` is a TapeRunner. The last run, or two together, stay recorded. */
JobRunner tape_runner_do;

/* The halves of it: all runs forward, which sets all of the result but its gradients; and backward,
 * or (`again`) once more. A run that is no longer recorded runs forward again. */
void tape_runner_forward(TapeRunner *t, const Job *j, Result *r);
void tape_runner_backward(TapeRunner *t, const Job *j, bool again, Result *r, real *grad);

/* ---- The parts of a run, for those who change something between forward and backward ---- */

void tape_runner_lay_out(TapeRunner *t, const CheckPoint *p);
void tape_runner_ready(TapeRunner *t, const CheckPoint *p, real fill); /* fills every gradient */
Tensor *tape_runner_record(TapeRunner *t, const CheckPoint *p, const JobWays *ways);
void tape_runner_back_from(TapeRunner *t, Tensor *y, const real *dy); /* runs backward */
real *tape_runner_element(TapeRunner *t, const CheckPoint *p, int input, long element);
