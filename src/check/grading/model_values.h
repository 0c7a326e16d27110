/* What a pass of a model computes (loss, logits, gradients), held against another's: the float twin's, or
 * a port's in a file. How far apart they may be (rounding.h) is measured: all weights are changed by ±ε of
 * themselves at random, several times, and the pass is run again. The largest change of a value, moved_i,
 * shows the size of its terms, moved_i / ε + max_j |value_j| / 4, where j runs over the tensor: a value
 * that is 0 as the difference of others is left with the rounding of those. */
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

/* Takes what the pass has found, and measures how it answers to rounding. The pass runs again; its weights
 * are as before at the end. To be freed, also after failure. */
bool values_take(ModelValues *v, ModelPass *p, uint64_t seed, Error *e);
void values_free(ModelValues *v);

/* The name of the t-th tensor in a file, its shape, and where it begins. */
enum { VALUES_NAME = PARAMETER_NAME + 8 };
Shape values_tensor(const ModelValues *v, int t, char name[VALUES_NAME], long *begin);

/* Judges the t-th tensor of a file by v: a part of a report. Where the file has none, or one that does not
 * fit, the part fails, with the reason. */
void values_compare(const ModelValues *v, int t, const Safetensors *file, const char *part,
                    InputReport *report);

/* The first tensor of a file that a gradient file of this model has not, or NULL. */
const char *values_unknown(const ModelValues *v, const Safetensors *file);

#endif
