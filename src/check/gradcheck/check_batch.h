/* Many runs at once. Their results stay until the next batch. If the case runs in another process, a batch is a few
 * messages. A batch runs forward at points that differ from the run's in a few numbers, as differences need it:
 *
 *     check_batch_open(&b, run, arena, outputs, 2, 2);
 *     check_batch_begin(&b);
 *     check_batch_ask(&b, 1), check_batch_change(&b, k, i, x + h);     run 0
 *     check_batch_ask(&b, 1), check_batch_change(&b, k, i, x - h);     run 1
 *     check_batch_run(&b);
 *     … check_batch_output(&b, 0), check_batch_output(&b, 1) …
 *
 * Or it runs forward and backward at the run's point, once for each cotangent: check_batch_open_backward,
 * check_batch_backward, check_batch_gradient. */
#ifndef GRADCHECK_CHECK_BATCH_H
#define GRADCHECK_CHECK_BATCH_H

#include "check/gradcheck/check_run.h"

typedef struct CheckBatch {
    CheckRun *run;
    long outputs;   /* of each run; another number is a bug */
    long gradients; /* of each run, of all inputs that take one */
    long most;      /* runs that fit */
    long asked, done;
    long changes, room;
    JobChange *change;  /* [room] changes of the runs that are not done, run after run */
    long *start;        /* [most + 1] the first change of each run */
    const real *dy;     /* [asked][outputs]; NULL: no backward */
    real fill;          /* of all gradients, before a run */
    real *y;            /* [done][outputs] */
    real *grad;         /* [done][gradients] */
    uint64_t *branches; /* [done] taken */
} CheckBatch;

/* Allocates memory for `runs` runs and for `changes` pending changes, at least those of one run. */
void check_batch_open(CheckBatch *b, CheckRun *run, Arena *arena, long outputs, long runs, long changes);

/* Forgets what was asked. */
void check_batch_begin(CheckBatch *b);

/* Asks for one more run with at most `changes` numbers of the point changed; check_batch_change names them. */
void check_batch_ask(CheckBatch *b, long changes);
void check_batch_change(CheckBatch *b, int input, long element, double value);

/* Runs what was asked and is not done. */
void check_batch_run(CheckBatch *b);

/* Allocates memory for `runs` runs, or for as many as fit in a limit. */
void check_batch_open_backward(CheckBatch *b, CheckRun *run, Arena *arena, long outputs, long runs);

/* Runs forward and backward for as many of `count` cotangents as there is room for. Returns their number. */
long check_batch_backward(CheckBatch *b, const real *dy, long count, real fill);

/* Results of a run: its output, and the gradient of an input that takes one. */
const real *check_batch_output(const CheckBatch *b, long run);
real *check_batch_gradient(const CheckBatch *b, long run, int input);

#endif
