/* The tasks by name. */
#include "tasks/task.h"
#include "base/utf8.h"
#include "tasks/answers.h"
#include "tasks/sequence_task.h"
#include "tasks/text_task.h"
#include <stdio.h>
#include <string.h>

const TaskKind task_kinds[] = {
    {"copy", "say a sequence again", task_sequence_open, task_copy_answer},
    {"reverse", "say a sequence backwards", task_sequence_open, task_reverse_answer},
    {"sort", "say the symbols of a sequence in rising order", task_sequence_open, task_sort_answer},
    {"lm", "say the next character of a text", task_text_open, NULL},
    {NULL},
};

TaskOptions task_defaults(void) {
    return (TaskOptions){
        .seed = 1,
        .symbols = 61,
        .max_length = 16,
        .held_out = 1000,
        .text = "data/chronicle.txt",
        .context = 64,
        .tail = 0.1,
    };
}

Task *task_open(const char *name, const TaskOptions *o, Error *e) {
    for (const TaskKind *kind = task_kinds; kind->name; kind++)
        if (!strcmp(kind->name, name)) return kind->open(kind, o, e);
    char names[200] = "", shown[ESCAPED_TEXT];
    for (const TaskKind *kind = task_kinds; kind->name; kind++)
        snprintf(names + strlen(names), sizeof names - strlen(names), "%s%s", *names ? ", " : "", kind->name);
    error_set(e, STATUS_USAGE, "task: found '%s', need one of %s", utf8_escape(shown, name), names);
    return NULL;
}

void task_free(Task *task) {
    if (task) task->free(task);
}

bool task_is_language_model(const Task *task) {
    return task->max_S == 0;
}

Batch *task_batch(const Task *task, long max_rows, Error *e) {
    return batch_new(max_rows, task->max_S, task->max_T, e);
}

void task_training_batch(const Task *task, uint64_t step, long first, long rows, Batch *b) {
    task->training(task, step, first, rows, b);
}

long task_held_out_batch(const Task *task, long first, long rows, Batch *b) {
    if (first < 0 || rows < 0)
        error_bug("task_held_out_batch: first is %ld, rows %ld, want at least 0", first, rows);
    long left = first < task->held_out ? task->held_out - first : 0;
    if (rows > left) rows = left;
    if (rows > 0) task->judging(task, first, rows, b);
    return rows;
}
