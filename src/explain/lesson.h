/* A small encoder-decoder that learns one of the sequence tasks while the reader waits: for experiments about the
 * whole model. One layer on each side, width 64, 4 heads, Adam with the paper's schedule. */
#ifndef EXPLAIN_LESSON_H
#define EXPLAIN_LESSON_H

#include "explain/explain.h"
#include "run/progress.h"
#include "training/trainer.h"

typedef struct Lesson {
    Task *task;
    Model *model;
    Trainer trainer;
    long steps; /* of the whole lesson */
    Progress progress;
} Lesson;

/* Opens the task with its symbols and longest sequence, and makes the model. Owned by the caller, for lesson_end, also
 * where it fails. */
bool lesson_begin(Lesson *l, const char *task, long symbols, long max_length, long steps,
                  AttentionKind attention, uint64_t seed, Error *e);
void lesson_end(Lesson *l);

/* Trains up to step number `until`. */
bool lesson_train(Lesson *l, long until, Error *e);

/* Shares of held-out tokens that the model predicts when it is fed the right ones, and of `rows` held-out answers that
 * it decodes without a mistake when it is fed its own (exact NULL: are not decoded). */
bool lesson_judge(Lesson *l, long rows, double *forced, double *exact, Error *e);

#endif
