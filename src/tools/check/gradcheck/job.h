/* A job: an operation's case is run several times at a point, forward and, if wanted, backward.
 * Its result is all that comes of it. A runner does jobs: in this process (tape_runner.h), or in
 * a program at the other end of two pipes (check/messages.h). */
#pragma once

#include "check/gradcheck/check_point.h"

/* Limits of a job: runs, changes, numbers of all outputs, numbers of all gradients. */
enum { JOB_RUNS = 1 << 12, JOB_CHANGES = 1 << 20, JOB_OUTPUTS = 1 << 20, JOB_GRADIENTS = 1 << 23 };

/* Outputs whose shapes a result keeps. */
enum { JOB_PARTS = 16 };

/* A stored element of an input, and its value in a run. */
typedef struct JobChange {
    long input, element;
    double value;
} JobChange;

/* How the runs of an operation on a tape are made. Functions of other languages know `together`
 * alone. */
typedef struct JobWays {
    bool guard;   /* NaNs surround the tape's arrays */
    bool keep;    /* output and upstream gradient survive backward */
    bool relayed; /* the inputs are outputs of another operation, as in the middle of a model */
    bool watch; /* what changes although it must not is named in the result; wants guard and keep */
    /* Two runs are recorded on one tape before backward runs through the second and the first. */
    bool together;
    real fill; /* of all gradients, before backward; NaN: they are fresh, and may hold anything */
    /* The index of the first node. Dropout depends on a node's index. If a run needs fewer nodes
     * than another, which copies a strided input, `first` makes up for the difference. */
    long first;
} JobWays;

typedef struct Job {
    const CheckPoint *point;
    long runs;
    const JobChange *change; /* those of run i are change[start[i]] to change[start[i + 1] - 1] */
    const long *start;       /* [runs + 1]; NULL: there are none */
    const real *dy;          /* [runs][outputs] upstream gradients; NULL: forward alone */
    long outputs;            /* of each run, as far as dy has them */
    int backwards;           /* 2: backward runs twice after one forward; 0 with dy: once */
    JobWays ways;
} Job;

enum { DAMAGE_TEXT = 128, MISFIT_TEXT = 160 };
typedef struct Result {
    Shape shape; /* of the output of each run */
    int parts;   /* tensors that are one output, one after the other; at most 1: it is one */
    Shape part[JOB_PARTS];
    bool wants_grad;
    long nodes;               /* on the tape */
    real *y;                  /* [runs][outputs] */
    uint64_t *branches;       /* [runs] the sides that all branches took */
    real *grad;               /* [backwards][runs][numbers of all inputs that take a gradient] */
    char damage[DAMAGE_TEXT]; /* "forward changed input x"; "": nothing */
    char misfit[CHECK_INPUTS]
               [MISFIT_TEXT]; /* why a gradient is no gradient of this input; "": it is */
    size_t y_room, branches_room, grad_room; /* bytes */
} Result;

/* Makes room in a result, which begins as {0}, for the outputs and the gradients of `runs` runs. */
void result_for_outputs(Result *r, long runs, long outputs);
void result_for_gradients(Result *r, long runs, long gradients);
void result_free(Result *r);

/* How often backward runs. */
int job_backwards(const Job *j);

/* Does a job for an operation's case. */
typedef struct CheckRun CheckRun;
typedef void JobRunner(void *where, CheckRun *run, const Job *j, Result *r);

/* How a case is checked (gradcheck.h). */
typedef struct CheckOptions {
    uint64_t seed;
    double nondeterminism; /* what equal runs may differ by, as a part of their size */
    bool differences;      /* checks no properties (properties.def): for a slow function */
    bool added; /* by the checker: fails only where the function is smooth (check_smooth.c) */
    JobRunner *runner; /* of the programs below */
    void *program;     /* runs the case; NULL: this process does */
    bool functions;    /* they return gradients: some properties mean nothing (properties.def) */
    void *fresh;       /* another one, which has run nothing; NULL: none */
    const CheckCase
        *reference; /* with the build whose output is wanted and differentiated; NULL: none */
    void *reference_program; /* runs it; NULL: this process does */
} CheckOptions;
