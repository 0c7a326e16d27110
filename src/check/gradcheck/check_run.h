/* Runs of a check case: its operation is recorded at a point on an empty tape, and runs forward and backward. It runs in
 * this process or in one of its own (check_host.h); callers see no difference. */
#ifndef GRADCHECK_CHECK_RUN_H
#define GRADCHECK_CHECK_RUN_H

#include "check/gradcheck/check_point.h"

typedef struct CheckHost CheckHost;
typedef struct CheckRun CheckRun;
typedef struct CheckBatch CheckBatch;

/* The functions below and check_batch_run for a run in another process (check_host.c). */
Tensor *check_host_forward(CheckRun *r);
void check_host_backward(CheckRun *r, const real *dy);
void check_host_batch(CheckBatch *b);
void check_host_pair(CheckRun *r, const CheckPoint *other, const real *dy, const real *other_dy);

struct CheckRun {
    const char *op;
    const CheckCase *c;
    CheckPoint *point;
    Tape *tape;          /* where it runs here */
    CheckHost *host;     /* where it runs otherwise; NULL: it runs here */
    CheckMemory *memory; /* of the host, for points; NULL: the arena's */
    bool guard;          /* NaNs surround the tape's arrays */
    bool keep;           /* output and upstream gradient can be looked at after backward */
    bool relayed;        /* the inputs are outputs of another operation, as in the middle of a model */
    long first;          /* index of the first node: see check_run_forward */
    const char *stage;   /* names the property under test if the run ends; NULL: the operation itself */
    bool explaining;     /* the verdict is known: a crash no longer changes it */

    /* Results of the last forward. */
    Tensor *y;
    long nodes;        /* on the tape */
    uint64_t branches; /* taken, over all operations on the tape */
    bool untouched;    /* the last run left the memory beside the output and its gradient as it was */
    long evaluations;  /* of forward, in all */
    long planned;      /* the expected number */

    /* The gradients of the very first backward, whose cotangent is first_dy: one array for each input with a gradient. */
    const real *first_dy, *first_grad[CHECK_INPUTS];
};

/* Records the case at its point. Dropout depends on a node's index on the tape. If a run needs fewer nodes than another,
 * which copies a strided input, `first` makes up for the difference. */
Tensor *check_run_forward(CheckRun *r);

/* Ends with an error if the last forward's output has another number of elements than expected. */
void check_run_has_outputs(const CheckRun *r, long outputs);

/* A random cotangent: signed, of sizes in [0.5, 1.5), so that no part of a gradient is hidden by a weight
 * near 0. */
void check_run_cotangent(real *dy, long outputs, uint64_t seed, uint64_t number);

/* A random direction of about unit length: signed, of sizes in [0.5, 1.5) / √count. */
void check_run_direction(real *v, long count, uint64_t key);

/* Backward from the last forward's output, with cotangent dy. With `keep` it may run again. */
void check_run_backward(CheckRun *r, const real *dy);

/* Records the case at its point and, on the same tape, at another one, then runs backward through the other and through
 * it. Wants `keep`. Their gradients are those of the two points. */
void check_run_pair(CheckRun *r, CheckPoint *other, const real *dy, const real *other_dy);

/* "[1,2]": the index of the i-th element of shape s, written into text; "" for a scalar. "x[1,2]": the element. */
enum { INDEX_TEXT = 128 };
const char *gradcheck_index_text(char text[INDEX_TEXT], Shape s, long i);
const char *gradcheck_element_text(char text[INDEX_TEXT], const char *name, Shape s, long i);

#endif
