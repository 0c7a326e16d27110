/* The functions that open the tasks of tasks.def. */
#pragma once

#include "tasks/task.h"

#define TASK(name, reads, summary, open, answer, text) TaskOpen open;
#include "tasks/tasks.def"
#undef TASK
