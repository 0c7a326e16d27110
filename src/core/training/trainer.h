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
    double error;    /* standard error of the loss, from its spread over tokens */
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

/* Returns the model to be trained, without memory; parameters that do not learn are frozen.
 * STATUS_USAGE: no parameter learns. */
Model *trainer_model(const Trainer *t, const ModelConfig *c, Error *e);

/* Allocates all memory of steps and evaluations; nothing is allocated later. The caller first sets
 * the model and the fields above the gap, and calls trainer_stop at the end. */
bool trainer_start(Trainer *t, Error *e);
void trainer_stop(Trainer *t);

/* Returns the peak bytes of training such a model with the trainer's task, rows, accumulation and
 * optimizer: parameters, moments, activations, batches, and decoding at the end. Needs no model in
 * the trainer. 0 with the error if the sizes are impossible. */
size_t trainer_bytes(const Trainer *t, const ModelConfig *c, double dropout, Error *e);

/* Returns the rows of a micro-batch, for batches of `rows` rows of S source (a language model: 0)
 * and T target tokens. Forward and backward run over one micro-batch at a time, and the gradients
 * add up to those of the batch. So activations need less memory and stay nearer to the cache. The
 * result depends on the sizes alone, so that training is reproducible. */
long trainer_micro_batch(Model *m, long rows, long S, long T);

/* ---- A step ---- */

/* Section 5: draws a batch, computes the gradient of its mean loss, and updates the weights. False
 * with STATUS_NON_FINITE if the loss or the norm of the gradient is not finite; the error names the
 * operation where it began. False without an error if a signal has arrived (base/interrupt.h). In
 * both cases the weights do not change. */
bool trainer_step(Trainer *t, StepResult *step, Error *e);

/* False with STATUS_NON_FINITE if a weight is not finite, or too large for a model's file. */
bool trainer_check(const Trainer *t, Error *e);

/* ---- Evaluation ---- */

/* Evaluates the model on `rows` held-out rows, evenly spread over all held-out rows (0: on all).
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

/* Returns how many held-out rows each evaluation of a run judges. The number depends on the task
 * alone, so that evaluations can be compared. */
long trainer_evaluation_rows(const Trainer *t);

/* Marks this step as evaluated, and begins a new mean of the training loss. */
void trainer_evaluated(Trainer *t);
