/* Training: the loop's body. A step draws a batch, runs the model forward and backward with shifted-right
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
    long rows;       /* of a batch */
    long accumulate; /* batches of a step */
    uint64_t seed;   /* of dropout */

    /* Called, where set, between two parts of a step; false gives the step up. */
    bool (*between)(void *context, long part, long parts);
    void *context;

    Tape *tape;
    Batch *batch;           /* all rows of a step */
    long part;              /* rows of one forward and backward: see parts.h */
    Tokens source, target;  /* those of a part */
    const int32_t *targets; /* what is to be predicted at each row of target, in the batch */
} Trainer;

typedef struct StepResult {
    double loss;      /* mean over the step's target tokens, label smoothing included */
    double grad_norm; /* before clipping */
    double learning_rate;
    long tokens;   /* target tokens */
    bool given_up; /* by `between`; weights and moments are as before the step */
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

/* Bytes that a training of this model takes at its peak, by the trainer's task, rows, accumulation and optimizer:
 * parameters, activations, batches, and what decoding samples takes afterwards. The trainer's model need not exist.
 * 0 with the error if it cannot be. */
size_t trainer_bytes(const Trainer *t, const ModelConfig *c, double dropout, Error *e);

/* 5.1: draws the batch of step number optimizer.step + 1. */
void trainer_draw(Trainer *t, StepResult *result);

/* Makes rows [first, first + count) of the batch what source, target and targets are. */
void trainer_take(Trainer *t, long first, long count);

/* The loss of that batch, and backward through it: the model's gradients are their sums over all parts. False with
 * STATUS_NON_FINITE if the loss is not finite; the error names the operation where it began. */
bool trainer_gradient(Trainer *t, StepResult *result, Error *e);

/* 5.3: clips the gradient and takes the step at its rate. False with STATUS_NON_FINITE if the gradient is not finite;
 * the weights are untouched. */
bool trainer_update(Trainer *t, StepResult *result, Error *e);

/* The three, one after another. */
bool trainer_step(Trainer *t, StepResult *result, Error *e);

/* False with STATUS_NON_FINITE if a weight is not finite, or too large for a model's file, as the last step may have
 * left it: such a model is not to be saved. */
bool trainer_check(const Trainer *t, Error *e);

/* Judges the model on at most `rows` held-out rows of the task (0: all). */
bool trainer_evaluate(Trainer *t, long rows, Evaluation *result, Error *e);

#endif
