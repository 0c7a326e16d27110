/* A model at work on one batch, dropout off: its loss, its logits and the gradient of every parameter. The
 * two come from files, or are small ones made here, so that any port of the model can start from the same
 * numbers. */
#ifndef GRADING_MODEL_PASS_H
#define GRADING_MODEL_PASS_H

#include "check/grading/batch_file.h"

typedef struct ModelPass {
    Model *model;
    PaddedBatch *batch;
    Tape *tape;
    Tokens source, target;
    int32_t *targets; /* [rows of target] */
    real loss;
    real *logits; /* [rows of target, vocab_size] */
} ModelPass;

/* The model of a weight file and the batch of a batch file (NULL: a random one for that model). The pass
 * is to be closed, also after failure; errors are those of model_load and batch_read. */
bool pass_open(ModelPass *p, const char *weights, const char *batch, uint64_t seed, Error *e);

/* A small model of this kind, drawn from the seed, with a batch for it. All weights are float numbers,
 * random about where training would start them: none is 0 or 1 by design, so no part of a gradient hides. */
bool pass_make(ModelPass *p, ModelKind kind, uint64_t seed, Error *e);

void pass_close(ModelPass *p);

/* Rounds all weights to float, so that passes in both precisions start from the same numbers. False if one
 * has no float near it: STATUS_BAD_DATA. */
bool pass_round_weights(ModelPass *p, Error *e);

/* Records the forward pass on a tape and returns the loss. Backward from it adds to the model's gradients. */
Tensor *pass_record(ModelPass *p, Tape *t);

/* Forward and backward: sets loss and logits, and the model's gradients, settled. STATUS_NO_MEMORY;
 * STATUS_BAD_DATA if loss or a gradient is not finite: `name` says whose. */
bool pass_run(ModelPass *p, const char *name, Error *e);

/* Writes what pass_run found, as grading/batch_file.h has it. */
bool pass_write(const ModelPass *p, const char *path, Error *e);

#endif
