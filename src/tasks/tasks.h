/* The functions that open the tasks of tasks.def. */
#ifndef TASKS_TASKS_H
#define TASKS_TASKS_H

#include "tasks/task.h"

#define TASK(name, summary, open, answer, text) TaskOpen open;
#include "tasks/tasks.def"
#undef TASK

#endif
