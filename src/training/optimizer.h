/* Optimizers: turn gradients into updates, in one pass over the parameter store.
 *
 * AdamW, at step t = 1, 2, … with rate η, for every element g of the (clipped) gradient:
 *
 *     m = β₁ m + (1-β₁) g            v = β₂ v + (1-β₂) g²
 *     w = w - η λ w                  for matrices only: gains, biases do not decay
 *     w = w - η (m / (1-β₁ᵗ)) / (√(v / (1-β₂ᵗ)) + ε)
 *
 *     Kingma & Ba, arXiv:1412.6980; Loshchilov & Hutter, arXiv:1711.05101; the paper's section 5.3 with λ = 0
 *
 * SGD with momentum:
 *
 *     g = g + λ w (matrices)         m = μ m + g             w = w - η m
 *
 * Muon updates the matrices of the layers (muon.h); AdamW updates the other parameters.
 */
#ifndef TRAINING_OPTIMIZER_H
#define TRAINING_OPTIMIZER_H

#include "nn/parameters.h"

typedef enum OptimizerKind { OPTIM_ADAMW, OPTIM_SGD, OPTIM_MUON } OptimizerKind;

typedef struct Optimizer {
    OptimizerKind kind;
    double beta1, beta2, epsilon; /* AdamW */
    double momentum;              /* SGD, Muon */
    double matrix_rate;           /* Muon: rate of the layers' matrices, as a multiple of η */
    double weight_decay;          /* λ */
    double clip_norm;             /* maximum gradient norm; 0: no clipping */
    long step;                    /* steps taken */

    /* From optim_start to optim_stop: [size] each, laid out as the parameter store. */
    real *moment1,
        *moment2;  /* SGD has no moment2; Muon's matrices have B in moment1 and nothing in moment2 */
    real *scratch; /* Muon */
    long size;
    size_t bytes;
} Optimizer;

/* β = (0.9, 0.98), ε = 1e-9 as in section 5.3; no decay; clipping to norm 1. */
Optimizer optim_default(OptimizerKind kind);

/* Allocates the moments, all 0. STATUS_NO_MEMORY. To be freed with optim_stop. */
bool optim_start(Optimizer *o, const Parameters *p, Error *e);
void optim_stop(Optimizer *o);

/* Restores the state after optim_start: moments and step 0. */
void optim_forget(Optimizer *o);

/* Bytes that optim_start allocates; for Muon they depend on pool_threads(), which must stay. */
size_t optim_bytes(OptimizerKind kind, const Parameters *p);

/* After parameters_zero_unreached: clips without a pass over the gradient: returns the norm of the gradient times *scale, and reduces *scale
 * so that the norm is at most clip_norm. */
double optim_clip(const Optimizer *o, const Parameters *p, double *scale);

/* Updates the weights with learning rate η and the gradient times `scale`. */
void optim_update(Optimizer *o, Parameters *p, double learning_rate, double scale);

/* Both. Returns the norm before clipping; if it is not finite nothing is changed. `scale` is 1/k after k
 * accumulated batches. */
double optim_step(Optimizer *o, Parameters *p, double learning_rate, double scale);

#endif
