/* A few weights trained through the tape, for experiments that make models of their own. */
#ifndef EXPLAIN_FIT_H
#define EXPLAIN_FIT_H

#include "nn/parameters.h"
#include "ops/ops.h"

#include "training/optimizer.h"

typedef struct Fit {
    Parameters weights;
    Optimizer optimizer; /* Adam, as section 5.3 has it */
    Tape *tape;
} Fit;

/* Gives the weights, registered with parameters_add, their memory and starting values, and makes the tape. Owned by
 * the caller, for fit_stop, also where it fails. */
bool fit_start(Fit *f, uint64_t seed, Error *e);
void fit_stop(Fit *f);

/* Takes one step down the loss, which was recorded on the tape, and resets the tape. */
bool fit_step(Fit *f, Tensor *loss, double rate, Error *e);

/* The caller's array on the tape, a constant. */
static inline Tensor *fit_data(Fit *f, Shape shape, const real *data) {
    return tape_leaf(f->tape, shape, (real *)data, NULL);
}

#endif
