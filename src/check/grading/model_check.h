/* Checks a whole model: a forward and backward pass over a batch in double, and by the float twin in
 * float; the gradient of every parameter against differences, in double; the values of the float pass, and
 * those of a port in a file, against the double ones. */
#ifndef GRADING_MODEL_CHECK_H
#define GRADING_MODEL_CHECK_H

#include "check/grading/model_differences.h"
#include "check/grading/model_values.h"

typedef struct ModelCheck {
    const char *weights, *batch; /* files; NULL: generated, of this kind */
    ModelKind kind;
    const char *out;      /* gradient file to write; NULL: none */
    const char *save;     /* directory for weights, batch and gradients; NULL: none */
    const char *against;  /* a port's gradient file; NULL: none */
    const char *only;     /* fnmatch pattern for parameters; NULL: all */
    bool in_double;       /* write the double pass; run no float pass */
    bool unchecked;       /* only write files */
    long samples;         /* elements of each parameter that are checked alone */
    ModelChoices choices; /* of a generated model */
    uint64_t seed;

    /* After model_check_open. */
    ModelPass pass;
    ModelValues values;
    Safetensors from_twin, from_port;
} ModelCheck;

/* Reads or generates model and batch, runs the passes and writes the files. To be closed, also after
 * failure. */
bool model_check_open(ModelCheck *c, Error *e);
void model_check_close(ModelCheck *c);

/* "seq2seq" or "lm". */
const char *model_check_kind(const ModelCheck *c);

/* The number of tensors: loss, logits, then the parameters. */
int model_check_tensors(const ModelCheck *c);

/* Checks tensor t. False: --only excludes it. `differences` gets the parts of model_differences.h, none
 * for loss and logits; `values` gets the parts `float` and `port` that can be compared. A tensor of the
 * port that the model does not have is a trouble of the loss. */
bool model_check_tensor(ModelCheck *c, int t, CaseReport *differences, CaseReport *values);

#endif
