/* A forward and backward pass of a model over one batch without dropout: loss, logits and the
 * gradient of every parameter. Model and batch come from files, or are small generated ones, from
 * which a port can start too.
 *
 * A gradient file holds the results of a pass, in F32 or F64:
 *
 *     loss []      logits [B,T,V], 0 where target_out is padding      grad.NAME for each parameter
 * NAME */
#pragma once

#include "check/gradcheck/report.h"
#include "check/grading/batch_file.h"
#include "formats/safetensors.h"

/* Must not move between pass_open or pass_make and pass_close. */
typedef struct ModelPass {
    Model *model;
    PaddedBatch *batch;
    Tape *tape;
    Tokens source, target;
    int32_t *targets; /* [rows of target] */
    real loss;
    real *logits;  /* [B,T,V] */
    Array *result; /* over loss, logits and the model's gradients: [results] */
    int results;
    Arena arena; /* of the arrays above */
} ModelPass;

/* Reads the model of a weight file and a batch (NULL: random). The pass is to be closed, also after
 * failure. Errors are those of model_load and batch_read. */
bool pass_open(ModelPass *p, const char *weights, const char *batch, uint64_t seed, Error *e);

/* A small model: a language model or the paper's. */
ModelConfig pass_config(bool lm);

/* Generates a model and a batch from the seed. All weights are floats, random around
 * their usual initial values: none is exactly 0 or 1, so no part of a gradient is hidden. */
bool pass_make(ModelPass *p, const ModelConfig *c, uint64_t seed, Error *e);

void pass_close(ModelPass *p);

/* Records the forward pass on a tape and returns the loss. */
Tensor *pass_record(ModelPass *p, Tape *t);

/* Runs forward and backward: sets the results; the model's gradients are settled. STATUS_NO_MEMORY;
 * STATUS_BAD_DATA: a result is not finite; `name` is the model in the message. */
bool pass_run(ModelPass *p, const char *name, Error *e);

/* Writes the results as a gradient file. */
bool pass_write(const ModelPass *p, const char *path, Error *e);

/* ---- The gradient of a parameter checked by differences of the loss (model_differences.c) ----
 *
 * A model has too many elements to move each alone. A parameter w moves in two ways at once:
 *
 *     w_i = w₀_i + u (s - 1) v_i + u (e_i - 1)        s = e_i = 1 is the model itself
 *
 * along a random direction v through all elements, where a large error of any element shows in
 * dL/ds = u Σ_i v_i dL/dw_i; and along single elements: the one with the largest gradient and
 * others at random. u is the size of w's elements. s and the e_i are inputs of an operation,
 * checked like any other (gradcheck.h). */

enum { MAX_SAMPLES = 1000 };

/* Checks parameter i and up to `samples` single elements. The report has the parts ds and dw, in
 * units of dL/dw. Restores the weights; overwrites the gradients. */
void model_differences(ModelPass *p, int i, const double *dw, long samples, uint64_t seed,
                       const char *model, CaseReport *report);
