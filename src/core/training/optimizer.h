/* Optimizers: turn gradients into updates, in one pass over the parameter store. A kind of
 * optimizer is one file, with its formula, and one word of ALL_OPTIMIZERS. */
#pragma once

#include "base/choice.h"
#include "nn/parameters.h"

typedef struct Update Update;

typedef struct OptimizerKind {
    Choice choice;
    int moments; /* number of moments, arrays of the store's size: 1 or 2 */
    /* Updates elements [begin, end) of the store. decay is 0 for vectors: gains, biases do not
     * decay. */
    void (*update)(const Update *u, long begin, long end, real decay);
    /* For parameters that the kind updates as a whole, by one thread: `owns` tells whether p is
     * one, `update_whole` updates it, `scratch` returns the reals of scratch memory for that. NULL:
     * there are none. */
    bool (*owns)(const Parameter *p);
    void (*update_whole)(const Update *u, const Parameter *p, real *scratch);
    long (*scratch)(const Parameter *p);
} OptimizerKind;

#define ALL_OPTIMIZERS(KIND) KIND(adamw) KIND(sgd) KIND(muon)
#define OPTIMIZER_OF(name)   extern const OptimizerKind optimizer_##name;
ALL_OPTIMIZERS(OPTIMIZER_OF)
extern const Choice *const all_optimizers[];

typedef struct Optimizer {
    const OptimizerKind *kind;
    double beta1, beta2; /* AdamW */
    double matrix_rate;  /* Muon: rate of the layers' matrices, as a multiple of η */
    double weight_decay; /* λ */
    double clip_norm;    /* maximum gradient norm; 0: no clipping */
    long step;           /* steps taken */

    /* From optim_start to optim_stop: [size] each, laid out as the parameter store. */
    real *moment1, *moment2; /* moment2: if the kind has two */
    real *scratch;           /* scratch_size reals of each thread */
    long scratch_size;
    long size;
    size_t bytes;
} Optimizer;

/* A step's update. */
struct Update {
    const Optimizer *o;
    Parameters *p;
    double rate, scale;            /* η; factor of the gradient */
    real correction1, correction2; /* 1/(1-β₁ᵗ), 1/(1-β₂ᵗ) */
};

/* Section 5.3: ε = 1e-9. */
extern const double adamw_epsilon;

/* AdamW's update. Other kinds use it for some parameters. */
void adamw_update(const Update *u, long begin, long end, real decay);

/* β = (0.9, 0.98) as in section 5.3; no decay; clipping to norm 1. */
Optimizer optim_default(const OptimizerKind *kind);

/* Allocates the moments, all 0. STATUS_NO_MEMORY. To be freed with optim_stop. */
bool optim_start(Optimizer *o, const Parameters *p, Error *e);
void optim_stop(Optimizer *o);

/* Resets moments and step to 0, as after optim_start. */
void optim_forget(Optimizer *o);

/* Bytes that optim_start allocates. Scratch memory depends on pool_threads(), which must stay. */
size_t optim_bytes(const OptimizerKind *kind, const Parameters *p);

/* Returns the norm of the gradient times *scale. Reduces *scale so that the update sees a norm of
 * at most clip_norm. Does not change the gradient. Call parameters_zero_unreached before. */
double optim_clip(const Optimizer *o, const Parameters *p, double *scale);

/* Updates the weights with learning rate η and the gradient times `scale`. */
void optim_update(Optimizer *o, Parameters *p, double learning_rate, double scale);

/* Calls optim_clip, then optim_update. Returns the norm before clipping; if it is not finite
 * nothing is changed. `scale` is 1/k after k accumulated batches. */
double optim_step(Optimizer *o, Parameters *p, double learning_rate, double scale);
