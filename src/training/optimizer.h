/* What turns gradients into better weights: one pass over the parameter store.
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
 */
#ifndef TRAINING_OPTIMIZER_H
#define TRAINING_OPTIMIZER_H

#include "nn/parameters.h"

typedef enum OptimizerKind { OPTIM_ADAMW, OPTIM_SGD } OptimizerKind;

typedef struct Optimizer {
    OptimizerKind kind;
    double beta1, beta2, epsilon; /* AdamW */
    double momentum;              /* SGD */
    double weight_decay;          /* λ */
    bool decay_all;               /* vectors decay as well */
    double clip_norm;             /* gradients longer than this are scaled down to it; 0: never */
    long step;                    /* steps taken */
} Optimizer;

/* β = (0.9, 0.98), ε = 1e-9 as in section 5.3; no decay; clipping to norm 1. */
Optimizer optim_default(OptimizerKind kind);

/* √Σ g², over all parameters, of gradients that are settled (parameters_settle_grad). Summed in double, in an
 * order that does not depend on the number of threads. */
double optim_grad_norm(const Parameters *p);

/* One step with learning rate η. `scale` multiplies every gradient first (1/k after k accumulated batches).
 * Returns the norm of the scaled gradient before clipping; if it is not finite nothing is changed. */
double optim_step(Optimizer *o, Parameters *p, double learning_rate, double scale);

#endif
