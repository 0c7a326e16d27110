/* Functions common to all tasks. */
#include "tasks/task.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

TaskOptions task_defaults(void) {
    return (TaskOptions){
        .seed = 1,
        .symbols = 61,
        .max_length = 16,
        .digits = 4,
        .held_out = 1000,
        .pairs = "data/pairs.tsv",
        .tokenizer = &tokenizer_char,
        .text = "data/stories.txt",
        .context = 64,
        .validation = 0.1,
    };
}

void *task_new(Task **out, const TaskKind *kind, size_t size, Error *e) {
    Task *task = *out = calloc(1, size);
    if (task) {
        task->name = kind->choice.name;
        task->begin_id = task->end_id = task->pad_id = task->opening_id = NO_TOKEN;
    } else
        error_set(e, STATUS_NO_MEMORY, "%s: no memory for a task", kind->choice.name);
    return task;
}

void task_free(Task *task) {
    if (!task) return;
    if (task->free) task->free(task);
    tokenizer_free(task->tokenizer);
    free(task);
}

void task_number_tokens(Task *task) {
    int32_t n = (int32_t)task->tokenizer->size;
    task->begin_id = n;
    task->end_id = n + 1;
    task->pad_id = n + 2;
    task->vocab_size = n + 3;
}

void task_remark(char remark[REMARK], const char *format, ...) {
    size_t used = strlen(remark);
    va_list arguments;
    if (used + 2 > REMARK) return;
    va_start(arguments, format);
    int n = vsnprintf(remark + used, REMARK - used - 1, format, arguments);
    va_end(arguments);
    if (n > 0) strcat(remark, "\n");
}

bool task_names_language_model(const char *name) {
    const TaskKind *kind = task_kind(name);
    return kind && kind->text;
}

bool task_is_language_model(const Task *task) {
    WANT(task);
    return task_names_language_model(task->name);
}

const char *task_unit(const Task *task) {
    return task->characters > 0 ? tokenizer_unit(task->tokenizer) : "token";
}

Batch *task_batch(const Task *task, long max_rows, Error *e) {
    WANT(task);
    return batch_new(max_rows, task->max_S, task->max_T, e);
}

void task_training_batch(const Task *task, uint64_t step, long first, long rows, Batch *b) {
    WANT(task);
    WANT(b);
    batch_clear(b);
    for (long r = first; r < first + rows; r++) task->add_training_row(task, step, r, b);
}

long task_spread_batch(const Task *task, long of, long first, long rows, Batch *b) {
    WANT(task);
    if (first < 0 || rows < 0 || of < 0)
        error_bug("task_spread_batch: first is %ld, rows %ld, of %ld, want at least 0", first, rows,
                  of);
    if (of > task->held_out) of = task->held_out;
    long left = first < of ? of - first : 0;
    if (rows > left) rows = left;
    if (rows > 0) batch_clear(b);
    for (long r = first; r < first + rows; r++) {
        double middle = ((double)r + 0.5) / (double)of; /* of r's share of all rows */
        task->add_held_out_row(task, (long)(middle * (double)task->held_out), b);
    }
    return rows;
}

long task_held_out_batch(const Task *task, long first, long rows, Batch *b) {
    return task_spread_batch(task, task->held_out, first, rows, b);
}
