/* A whole model checked: one forward and backward pass over a batch, in float as models are trained (by
 * the float twin) and in double; every parameter's gradient against differences, always in double; the
 * values of the float pass, and those of a port in a file, against the double ones. */
#ifndef GRADING_MODEL_CHECK_H
#define GRADING_MODEL_CHECK_H

#include "check/grading/model_differences.h"
#include "check/grading/model_values.h"

typedef struct ModelCheck {
    const char *weights, *batch; /* files; NULL: made here, of this kind */
    ModelKind kind;
    const char *out;     /* gradient file to be written; NULL: none */
    const char *save;    /* directory for weights, batch and gradients; NULL: none */
    const char *against; /* a port's gradient file; NULL: none */
    const char *only;    /* fnmatch pattern for parameters; NULL: all */
    bool in_double;      /* write what the double pass gives; no float pass */
    bool unchecked;      /* the files are all that is wanted */
    long samples;        /* elements of each parameter to be checked alone */
    uint64_t seed;

    /* After model_check_open. */
    ModelPass pass;
    ModelValues values;
    Safetensors from_twin, from_port;
} ModelCheck;

/* Reads or makes model and batch, runs the passes and writes the files. The rest is to be closed, also
 * after failure. */
bool model_check_open(ModelCheck *c, Error *e);
void model_check_close(ModelCheck *c);

/* "seq2seq" or "lm". */
const char *model_check_kind(const ModelCheck *c);

/* How many tensors there are to be reported: loss, logits, then one a parameter. */
int model_check_tensors(const ModelCheck *c);

/* Checks the t-th. False: --only leaves it out. `differences` has the parts of model_differences.h, none
 * for loss and logits; `values` the parts `float` and `port` where there is something to compare. A port's
 * tensor that the model has not is a trouble of the loss's values. */
bool model_check_tensor(ModelCheck *c, int t, CaseReport *differences, CaseReport *values);

#endif
