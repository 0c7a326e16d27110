/* lm: next-character prediction. */
#ifndef TASKS_TEXT_TASK_H
#define TASKS_TEXT_TASK_H

#include "tasks/task.h"
#include "text/corpus.h"

/* Opens lm, for task_open. */
Task *task_text_open(const TaskKind *kind, const TaskOptions *o, Error *e);

/* The text of an lm task, owned by the task; NULL for any other task. */
const Corpus *task_text_corpus(const Task *task);

/* Losses to compare a model's loss with, in nats per token: that of a uniform guess over the data tokens; of an lm's
 * held-out text, the entropy of a token and of a token given the previous one; the loss of a perfect model, where it is
 * known. 0 for other tasks. */
typedef struct Yardsticks {
    double uniform, unigram, bigram, perfect;
} Yardsticks;
bool task_yardsticks(const Task *task, Yardsticks *out, Error *e);

#endif
