/* Functions common to all tasks. */
#include "tasks/task.h"

TaskOptions task_defaults(void) {
    return (TaskOptions){
        .seed = 1,
        .symbols = 61,
        .max_length = 16,
        .held_out = 1000,
        .text = "data/chronicle.txt",
        .context = 64,
        .validation = 0.1,
    };
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
    if (rows > 0) task->validation(task, first, rows, b);
    return rows;
}
