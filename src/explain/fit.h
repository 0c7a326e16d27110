/* A few weights trained through the tape, for experiments with models of their own. */
#ifndef EXPLAIN_FIT_H
#define EXPLAIN_FIT_H

#include "nn/parameters.h"
#include "ops/ops.h"

#include "training/optimizer.h"

typedef struct Fit {
    Parameters weights;
    Optimizer optimizer; /* Adam, section 5.3 */
    Tape *tape;
} Fit;

/* Allocates and initializes the weights, registered before with parameters_add, and makes the tape. The
 * caller calls fit_stop, also after a failure. */
bool fit_start(Fit *f, uint64_t seed, Error *e);
void fit_stop(Fit *f);

/* Runs backward from the recorded loss, takes one optimizer step, and resets the tape. */
bool fit_step(Fit *f, Tensor *loss, double rate, Error *e);

/* The caller's array as a constant on the tape. */
static inline Tensor *fit_data(Fit *f, Shape shape, const real *data) {
    return tape_leaf(f->tape, shape, (real *)data, NULL);
}

#endif
