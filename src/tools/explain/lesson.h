/* A small encoder-decoder that learns a sequence task, for experiments about the whole model: one
 * layer on each side, d_model 64, 4 heads, Adam with the paper's schedule. */
#pragma once

#include "explain/explain.h"
#include "run/progress.h"
#include "training/trainer.h"

typedef struct Lesson {
    Task *task;
    Model *model;
    Trainer trainer;
    long steps; /* of the schedule */
    Progress progress;
} Lesson;

/* Opens the task with `symbols` symbols and sequences of up to max_length, and makes the model. The
 * caller calls lesson_end, also after a failure. */
bool lesson_begin(Lesson *l, const char *task, long symbols, long max_length, long steps,
                  const AttentionKind *attention, uint64_t seed, Error *e);
void lesson_end(Lesson *l);

/* Trains until step `until`. */
bool lesson_train(Lesson *l, long until, Error *e);

/* *forced: the share of right held-out tokens when the model reads the right answer. *exact: the
 * share of whole answers that are right when it reads its own, of `rows` held-out rows; NULL: not
 * computed. */
bool lesson_judge(Lesson *l, long rows, double *forced, double *exact, Error *e);
