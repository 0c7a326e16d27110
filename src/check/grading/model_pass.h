/* A forward and backward pass of a model over one batch without dropout: loss, logits and the gradient of
 * every parameter. Model and batch come from files, or are small generated ones, from which a port can
 * start too. */
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

/* Reads the model of a weight file and a batch (NULL: random). The pass is to be closed, also after
 * failure. Errors are those of model_load and batch_read. */
bool pass_open(ModelPass *p, const char *weights, const char *batch, uint64_t seed, Error *e);

/* Choices for a generated model: values of ModelConfig, an activation counted from ACT_RELU; -1: as usual for its
 * kind. */
typedef struct ModelChoices {
    int positions, norm_kind, qk_norm, activation;
    int zero_outputs; /* above 0: the output matrices of all sublayers are 0, as training may begin */
} ModelChoices;
#define USUAL_CHOICES ((ModelChoices){-1, -1, -1, -1, -1})

/* Generates a small model of this kind and a batch from the seed. All weights are floats, random around
 * their usual initial values: none is exactly 0 or 1, so no part of a gradient is hidden. */
bool pass_make(ModelPass *p, ModelKind kind, const ModelChoices *choices, uint64_t seed, Error *e);

void pass_close(ModelPass *p);

/* Records the forward pass on a tape and returns the loss. */
Tensor *pass_record(ModelPass *p, Tape *t);

/* Runs forward and backward: sets loss, logits and the model's gradients, settled. STATUS_NO_MEMORY;
 * STATUS_BAD_DATA: the loss or a gradient is not finite; `name` is the model in the message. */
bool pass_run(ModelPass *p, const char *name, Error *e);

/* Writes the results of pass_run as a gradient file (batch_file.h). */
bool pass_write(const ModelPass *p, const char *path, Error *e);

#endif
