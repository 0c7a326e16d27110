/* A few weights trained through the tape, for experiments with models of their own. */
#pragma once

#include "nn/nn.h"
#include "training/optimizer.h"

typedef struct Fit {
    Parameters weights;
    Optimizer optimizer; /* Adam, section 5.3 */
    Tape *tape;
} Fit;

/* Allocates and initializes the weights, registered before with parameters_add, and makes the tape.
 * The caller calls fit_stop, also after a failure. */
bool fit_start(Fit *f, uint64_t seed, Error *e);
void fit_stop(Fit *f);

/* Runs backward from the recorded loss, takes one optimizer step, and resets the tape. */
bool fit_step(Fit *f, Tensor *loss, double rate, Error *e);

/* The caller's array as a constant on the tape. */
static inline Tensor *fit_data(Fit *f, Shape shape, const real *data) {
    return tape_leaf(f->tape, shape, (real *)data, NULL);
}

/* Normal numbers, a function of (seed, which, element), as a constant on a tape. */
Tensor *fit_normals(Tape *t, Shape shape, uint64_t seed, uint64_t which);

/* A small model for experiments: one attention over embeddings with learnt positions, projected to
 * scores, on sequences of equal length. */
enum { ONE_TOKENS = 1024, ONE_SEQUENCES = 32 };
typedef struct OneAttention {
    Tensor embedding, positions, query, key, value, out;
    int32_t place[ONE_TOKENS], start[ONE_SEQUENCES], length[ONE_SEQUENCES];
    Sequences sequences;
} OneAttention;

/* Registers its weights. */
bool one_attention_add(OneAttention *a, Parameters *p, int symbols, int outputs, int width,
                       int sequences, int length, Error *e);

/* The scores of all tokens: [tokens, outputs]. With `steps`, [sequences], attention is computed
 * step by step. */
Tensor *one_attention(OneAttention *a, Tape *t, const int32_t *symbols, int heads, bool causal,
                      AttentionSteps *steps);
