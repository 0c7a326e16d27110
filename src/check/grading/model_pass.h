/* A forward and backward pass of a model over one batch without dropout: loss, logits and the gradient of
 * every parameter. Model and batch come from files, or are small generated ones, from which a port can
 * start too. */
#ifndef GRADING_MODEL_PASS_H
#define GRADING_MODEL_PASS_H

#include "check/gradcheck/gradcheck.h"
#include "check/grading/batch_file.h"
#include "formats/safetensors.h"

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

/* The gradient of a parameter checked by differences of the loss.
 *
 * A model has too many elements to move each alone. A parameter w moves in two ways at once:
 *
 *     w_i = w₀_i + u (s - 1) v_i + u (e_i - 1)        s = e_i = 1 is the model itself
 *
 * along a random direction v through all elements, where a large error of any element shows in dL/ds = u
 * Σ_i v_i dL/dw_i; and along single elements: the one with the largest gradient and others at random. u is
 * the size of w's elements. s and the e_i are inputs of an operation, checked like any other
 * (gradcheck.h). */

enum { MOST_SAMPLES = 1000 };

/* Checks parameter i and up to `samples` single elements. The report has the parts ds and dw, in units of
 * dL/dw. Restores the weights; overwrites the gradients. */
void model_differences(ModelPass *p, int i, const double *dw, long samples, uint64_t seed, const char *model,
                       CaseReport *report);

/* Compares the results of a pass (loss, logits, gradients) with those of a port in a file. The allowed distance (rounding.h) is measured: all weights change by ±ε of themselves at
 * random, several times, and the pass runs again. The largest change of a value, moved_i, shows the size
 * of its terms, moved_i / ε + max_j |value_j| over the tensor: a value that is 0 as the difference of
 * others, such as the gradient of a key's bias, keeps the rounding of those. */

/* The tensors of a gradient file: loss, logits, then the parameters' gradients. */
enum { VALUES_LOSS, VALUES_LOGITS, VALUES_GRADIENTS };

typedef struct ModelValues {
    const ModelPass *pass;
    int tensors;
    long count;
    double *value, *moved; /* [count], tensor after tensor; moved is infinite where nothing is asked */
} ModelValues;

/* Takes the results of the pass and measures their response to rounding. Runs the pass again, and restores
 * its weights. To be freed, also after failure. */
bool values_take(ModelValues *v, ModelPass *p, uint64_t seed, Error *e);
void values_free(ModelValues *v);

/* The name of the t-th tensor in a file, its shape, and where it begins. */
enum { VALUES_NAME = PARAMETER_NAME + 8 };
Shape values_tensor(const ModelValues *v, int t, char name[VALUES_NAME], long *begin);

/* Compares tensor t of a file, as a part of a report. A tensor that is missing or does not fit fails with
 * the reason. */
void values_compare(const ModelValues *v, int t, const Safetensors *file, const char *part,
                    InputReport *report);

/* The first tensor of the file that this model does not have, or NULL. */
const char *values_unknown(const ModelValues *v, const Safetensors *file);

#endif
