/* A check case on a tape of this process: its inputs lie in memory as a point says, its operation is recorded there and
 * runs forward and backward.
 *
 * Every input lies in a block of its own, with guards around it and, where it is stepped, gaps between its elements.
 * Guards and gaps of values hold NaN, which a wrong read carries into the result. Guards of gradients hold a number, so
 * that a wrong write is detected. */
#ifndef GRADCHECK_CASE_TAPE_H
#define GRADCHECK_CASE_TAPE_H

#include "check/gradcheck/job.h"

typedef struct CaseInput {
    Tensor tensor; /* what the operation gets; tensor.grad is NULL for a constant */
    real *block;   /* guard, values with gaps, guard */
    long block_count;
    real *grad_block; /* guard, gradient, guard */
} CaseInput;

typedef struct CaseTape {
    const char *op;
    const CheckCase *c;
    Tape *tape;
    Arena arena;                       /* of the inputs */
    CaseInput in[2][CHECK_INPUTS];     /* [1]: of the second of two that are recorded together */
    Tensor *y[2], *x[2][CHECK_INPUTS]; /* output and inputs, as build has them */
} CaseTape;

/* To be freed with case_tape_free. */
CaseTape case_tape_new(const char *op, const CheckCase *c);
void case_tape_free(CaseTape *t);

/* Sets shape, nodes, outputs and branches of the result. The last run, or two together, stay recorded. */
void case_tape_forward(CaseTape *t, const Job *j, Result *r);

/* After forward for the same job: runs backward, or runs it again, and writes the gradients. A run that is no longer
 * recorded runs forward again. */
void case_tape_backward(CaseTape *t, const Job *j, bool again, Result *r, real *grad);

/* A JobRunner; `where` is a CaseTape. */
JobRunner case_tape_run;

/* ---- The parts of a run, for those who change something between forward and backward ---- */

void case_tape_lay_out(CaseTape *t, const CheckPoint *p);
void case_tape_ready(CaseTape *t, const CheckPoint *p, real fill); /* fills every gradient */
Tensor *case_tape_record(CaseTape *t, const CheckPoint *p, const JobWays *ways);
void case_tape_back_from(CaseTape *t, Tensor *y, const real *dy); /* runs backward */
real *case_tape_element(CaseTape *t, const CheckPoint *p, int input, long element);

#endif
