/* Training: the loop's body. One step draws a batch, runs the model forward and backward with shifted-right
 * teacher forcing, and takes one optimizer step. Sections 5.1 to 5.4. */
#ifndef TRAINING_TRAINER_H
#define TRAINING_TRAINER_H

#include "nn/nn.h"
#include "tasks/task.h"
#include "training/optimizer.h"
#include "training/schedule.h"

/* What the user chooses; the trainer adds what it needs to run. */
typedef struct Trainer {
    Model *model;
    const Task *task;
    Optimizer optimizer;
    Schedule schedule;
    long batch;      /* rows at a time, at most */
    long accumulate; /* batches of a step */
    uint64_t seed;   /* of dropout */

    Tape *tape;
    Batch *rows;           /* all rows of a step */
    long part;             /* rows of one forward and backward: see parts.h */
    Tokens source, target; /* those of a part */
    int32_t *targets;      /* what is to be predicted at each row of target */
} Trainer;

typedef struct StepResult {
    double loss;      /* mean over the step's target tokens, label smoothing included */
    double grad_norm; /* before clipping */
    double learning_rate;
    long tokens; /* target tokens */
} StepResult;

typedef struct Evaluation {
    double loss;     /* mean cross-entropy of the held-out targets, in nats, without label smoothing */
    double accuracy; /* share of held-out tokens that are the likeliest under teacher forcing */
    long tokens;
} Evaluation;

/* Takes the memory that steps and evaluations need, after the fields above the gap are set. Nothing is
 * allocated later. */
bool trainer_start(Trainer *t, Error *e);
void trainer_stop(Trainer *t);

/* Bytes that a training of this model, task and batch takes at its peak: parameters, activations, batches, and what
 * decoding samples takes afterwards.
 * The model need not exist. 0 with the error if it cannot be. */
size_t trainer_bytes(const ModelConfig *c, double dropout, OptimizerKind optimizer, const Task *task,
                     long batch, long accumulate, Error *e);

/* Takes step number optimizer.step + 1. False with STATUS_NON_FINITE, the weights untouched, if the loss or
 * the gradient is not finite; of a loss the error names the operation where it began. */
bool trainer_step(Trainer *t, StepResult *result, Error *e);

/* False with STATUS_NON_FINITE if a weight is not finite, as the last step may have left it: such a model is
 * not to be saved. */
bool trainer_check(const Trainer *t, Error *e);

/* Judges the model on at most `rows` held-out rows of the task (0: all). */
bool trainer_evaluate(Trainer *t, long rows, Evaluation *result, Error *e);

#endif
