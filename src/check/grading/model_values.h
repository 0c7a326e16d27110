/* Compares the results of a pass (loss, logits, gradients) with those of a port in a file. The allowed distance (rounding.h) is measured: all weights change by ±ε of themselves at
 * random, several times, and the pass runs again. The largest change of a value, moved_i, shows the size
 * of its terms, moved_i / ε + max_j |value_j| over the tensor: a value that is 0 as the difference of
 * others, such as the gradient of a key's bias, keeps the rounding of those. */
#ifndef GRADING_MODEL_VALUES_H
#define GRADING_MODEL_VALUES_H

#include "check/gradcheck/gradcheck.h"
#include "check/grading/model_pass.h"
#include "formats/safetensors.h"

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
