/* Runs of a check case at a point, by a runner in this process or elsewhere (job.h); callers see
 * no difference. Many runs at points that differ from the run's in a few numbers, as differences
 * need them, are asked for and done together:
 *
 *     above = check_run_ask(r), check_run_change(r, k, i, x + h);
 *     below = check_run_ask(r), check_run_change(r, k, i, x - h);
 *     check_run_all(r, NULL);
 *     … check_run_output(r, above), check_run_output(r, below) …
 *
 * Results stay until the next job. */
#pragma once

#include "check/gradcheck/job.h"

struct CheckRun {
    const char *op;
    const CheckCase *c;
    const CheckPoint *point;
    JobRunner *runner;
    void *where;  /* for the runner */
    long at_once; /* runs of a job; grows and shrinks so that a job takes a moment; 0: any number */
    JobWays ways;
    const char
        *stage;      /* names the property under test if the run ends; NULL: the operation itself */
    bool explaining; /* the verdict is known: a crash no longer changes it */

    Result result;    /* of all runs of the last job */
    Tensor *y;        /* the output of the last check_run_forward, which owns it */
    long outputs;     /* its elements; another number at another point is a bug */
    long nodes;       /* on the tape, after the last job */
    long evaluations; /* of forward, in all */
    long planned;     /* the expected number */

    long asked, asked_room; /* runs that check_run_all will do */
    long *start;            /* the first change of each, and the end */
    JobChange *change;
    long changes, change_room;
    Result part; /* of a job that is done in parts */

    /* The gradients of the very first backward, whose cotangent is first_dy: one array for each
     * input with a gradient. */
    const real *first_dy, *first_grad[CHECK_INPUTS];
};

/* Does a job in the ways of the run. */
void check_run_job(CheckRun *r, Job job);

/* Runs forward at the point. */
Tensor *check_run_forward(CheckRun *r);
void check_run_free(CheckRun *r);

/* Asks for one more run, and returns its number; gives a number of its point another value. */
long check_run_ask(CheckRun *r);
void check_run_change(CheckRun *r, int input, long element, double value);

/* Runs all that was asked for forward, and unless dy is NULL backward, each for its cotangent
 * dy[run][outputs]. */
void check_run_all(CheckRun *r, const real *dy);

/* Results of a run: its output, and the gradient of an input that takes one. */
const real *check_run_output(const CheckRun *r, long run);
const real *check_run_gradient(const CheckRun *r, long run, int input);

/* A random cotangent: signed, of sizes in [0.5, 1.5), so that no part of a gradient is hidden by
 * a weight near 0. */
void check_run_cotangent(real *dy, long outputs, uint64_t seed, uint64_t number);

/* A random direction of about unit length: signed, of sizes in [0.5, 1.5) / √count. */
void check_run_direction(real *v, long count, uint64_t key);

/* ---- The rounding of the outputs of a run (check_noise.c) ---- */

/* How much rounding changes each output of a run. */
typedef struct Noise {
    real *here;     /* the outputs at the point */
    double *change; /* of each output: the largest change that rounding explains */
    /* The same for an output of 0, which has no last digit: it may be the difference of equal
     * numbers, or the logarithm of a rounded 1. */
    double floor;
    uint64_t branches; /* taken at the point */
} Noise;

/* Rounding changes the last digit of an output, or as much as changes of the inputs' last digits
 * do: these are measured. input: the only one that is changed; -1: all. An output that does not
 * move (the logarithm of 1 + something small moves in steps of the 1's last digit) gets larger
 * changes until it does: its first move shows the size of its steps. */
void check_noise(Noise *n, CheckRun *run, int input, Arena *arena);

/* Whether forward has fewer digits than a real (check_digits.c). */
typedef struct Digits {
    int count; /* about so many; 0: those of a real */
    bool
        everywhere; /* it moves in steps, as a number kept in float; else it jumps at some places */
    double jump;    /* relative to the largest output */
    double *step;   /* of each output: how far it jumps, or its rounding as it shows around here */
    bool noisy;     /* that is more than last digits */
} Digits;

/* Looks along a line through the point, on which the input moves; -1: all do. */
Digits check_digits(CheckRun *run, int input, Arena *arena);
