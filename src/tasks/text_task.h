/* lm: next-token prediction. */
#ifndef TASKS_TEXT_TASK_H
#define TASKS_TEXT_TASK_H

#include "tasks/task.h"
#include "text/corpus.h"

/* Opens lm, for task_open. */
TaskOpen task_text_open;

/* The text of an lm task, owned by the task; NULL for any other task. */
const Corpus *task_text_corpus(const Task *task);

#endif
