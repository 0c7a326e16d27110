/* lm: the next character of a text, as a task. */
#ifndef TASKS_TEXT_TASK_H
#define TASKS_TEXT_TASK_H

#include "tasks/task.h"
#include "text/corpus.h"

/* lm, as task_open has it. */
Task *task_text_open(const TaskKind *kind, const TaskOptions *o, Error *e);

/* The text behind an lm task, which stays the task's: for entropies and prompts. NULL for any other task. */
const Corpus *task_text_corpus(const Task *task);

#endif
