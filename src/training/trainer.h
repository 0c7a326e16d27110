/* The trainer: all state of a training run, its step (sections 5.1 to 5.4) and its evaluation. */
#pragma once

#include "nn/nn.h"
#include "tasks/task.h"
#include "training/optimizer.h"
#include "training/schedule.h"

/* The state of a run, beside weights and moments. */
typedef struct TrainState {
    long step, tokens; /* updates made, and target tokens trained on */
    double loss_sum;   /* over the steps since the last evaluation */
    long losses;       /* number of those steps */
    long evaluated;    /* step of the last evaluation; 0: none */
    double best_loss;  /* lowest validation loss; INFINITY: none yet */
    long best_step;
} TrainState;

typedef struct StepResult {
    double loss;      /* mean over the step's target tokens, label smoothing included */
    double grad_norm; /* before clipping */
    double learning_rate;
    long tokens; /* target tokens */
    long micro_batches;
} StepResult;

typedef struct Evaluation {
    double loss; /* mean cross-entropy of the held-out targets, in nats, without label smoothing */
    double accuracy; /* share of held-out tokens that are the likeliest under teacher forcing */
    long tokens, rows;
} Evaluation;

/* The user chooses the first part; trainer_start adds the second. */
typedef struct Trainer {
    Model *model;
    const Task *task;
    Optimizer optimizer;
    Schedule schedule;
    long eval_every;
    long rows;            /* of a batch */
    long accumulate;      /* batches of a step */
    uint64_t seed;        /* of dropout */
    const char *learning; /* fnmatch pattern of the parameters that learn; NULL: all */
    TrainState state;

    Tape *tape;
    Batch *batch;           /* all rows of a step */
    long micro_batch;       /* rows of one forward and backward */
    Tokens source, target;  /* of a micro-batch */
    const int32_t *targets; /* the token to be predicted at each row of target, in the batch */
} Trainer;

/* The model that the trainer is to train, without memory, its other parameters frozen.
 * STATUS_USAGE: none learns. */
Model *trainer_model(const Trainer *t, const ModelConfig *c, Error *e);

/* Allocates what steps and evaluations need, once the model and the fields above the gap are set.
 * Nothing is allocated later. To be freed with trainer_stop. */
bool trainer_start(Trainer *t, Error *e);
void trainer_stop(Trainer *t);

/* Peak bytes of training such a model, by the trainer's task, rows, accumulation and optimizer:
 * parameters, moments, activations, batches, and decoding at the end. The trainer's model need not
 * exist. 0 with the error if the sizes cannot be. */
size_t trainer_bytes(const Trainer *t, const ModelConfig *c, double dropout, Error *e);

/* Rows of a micro-batch: forward and backward run over some rows of a batch at a time, while
 * gradients add up to those of the batch, so that activations need less memory and are nearer to
 * the cache. For batches of `rows` rows of S source (a language model: 0) and T target tokens. It
 * depends on the sizes alone, so that results are reproducible. */
long trainer_micro_batch(const ModelConfig *c, double dropout, long rows, long S, long T);

/* ---- A step ---- */

/* Section 5: draws a batch, computes the gradient of its mean loss, and updates the weights. False
 * with STATUS_NON_FINITE if the loss or the norm of the gradient is not finite, and the error names
 * the operation where it began; false without an error if a signal has arrived (base/interrupt.h).
 * Then the weights are those before the step. */
bool trainer_step(Trainer *t, StepResult *step, Error *e);

/* False with STATUS_NON_FINITE if a weight is not finite, or too large for a model's file. */
bool trainer_check(const Trainer *t, Error *e);

/* ---- Evaluation ---- */

/* Evaluates the model on `rows` held-out rows that lie evenly among all of the task (0: on all).
 * STATUS_NON_FINITE: the loss is not finite. */
bool trainer_evaluate(Trainer *t, long rows, Evaluation *v, Error *e);

/* The same. After every few rows goes_on gets the number of rows judged so far; the evaluation ends
 * where it returns false. */
typedef struct EvaluationWatch {
    bool (*goes_on)(void *context, long judged);
    void *context;
} EvaluationWatch;
bool trainer_evaluate_watched(Trainer *t, long rows, const EvaluationWatch *watch, Evaluation *v,
                              Error *e);

/* True every eval_every steps, but not at the last step, which run_finish evaluates. */
bool trainer_evaluation_due(const Trainer *t);

/* Held-out rows that each evaluation of a run judges. They depend on the task alone, so that
 * evaluations can be compared. */
long trainer_evaluation_rows(const Trainer *t);

/* Begins a new mean of the training loss; no other evaluation of this step is due. */
void trainer_evaluated(Trainer *t);
