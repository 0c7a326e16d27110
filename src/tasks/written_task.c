#include "tasks/written_task.h"
#include "base/random.h"
#include <stdlib.h>
#include <string.h>

enum { SPLIT = 8 }; /* one question in SPLIT is held out */

typedef struct WrittenTask {
    Task task;
    Writing writing;
    uint64_t split_key, training_key, held_out_key;
} WrittenTask;

bool task_written_held_out(const Task *task, uint64_t number) {
    return (random_key(((const WrittenTask *)task)->split_key, number) >> 32) % SPLIT == 0;
}

static long encode(const Task *task, const char *text, int32_t *ids) {
    long count;
    Error never = {0};
    if (!tokenizer_encode(task->tokenizer, task->name, text, strlen(text), ids, &count, &never))
        error_bug("%s", never.text);
    return count;
}

static void add_row(const WrittenTask *t, uint64_t key, bool held_out, Batch *b) {
    char source[WRITTEN_BYTES], target[WRITTEN_BYTES];
    int32_t question[WRITTEN_BYTES], answer[WRITTEN_BYTES];
    uint64_t number, attempt = 0;
    do number = t->writing.draw(random_key(key, attempt++), t->writing.most, source, target);
    while (task_written_held_out(&t->task, number) != held_out);
    long S = encode(&t->task, source, question), T = encode(&t->task, target, answer) + 1;
    BatchRow row = batch_add(b, S, T);
    memcpy(row.source, question, (size_t)S * sizeof *question);
    batch_teach(row, t->task.begin_id, answer, t->task.end_id);
}

static void training_rows(const Task *task, uint64_t step, long first, long rows, Batch *b) {
    const WrittenTask *t = (const WrittenTask *)task;
    batch_clear(b);
    for (long r = first; r < first + rows; r++)
        add_row(t, random_key(random_key(t->training_key, step), (uint64_t)r), false, b);
}

static void held_out_rows(const Task *task, long first, long rows, Batch *b) {
    const WrittenTask *t = (const WrittenTask *)task;
    batch_clear(b);
    for (long r = first; r < first + rows; r++) add_row(t, random_key(t->held_out_key, (uint64_t)r), true, b);
}

static void free_written_task(Task *task) {
    tokenizer_free(task->tokenizer);
    free(task);
}

Task *task_written_open(const char *name, const Writing *w, const TaskOptions *o, Error *e) {
    if (!task_in_range(name, "held-out sequences", o->held_out, 1, MAX_HELD_OUT, e)) return NULL;
    WrittenTask *t = calloc(1, sizeof *t);
    Tokenizer *k = t ? tokenizer_parse(name, w->alphabet, e) : NULL;
    if (!k) {
        error_set(e, STATUS_NO_MEMORY, "%s: no memory for a task", name);
        free(t);
        return NULL;
    }
    *t = (WrittenTask){
        .task = {.name = name,
                 .tokenizer = k,
                 .held_out = o->held_out,
                 .max_S = w->max_S,
                 .max_T = w->max_T + 1,
                 .training = training_rows,
                 .validation = held_out_rows,
                 .free = free_written_task},
        .writing = *w,
        .split_key = random_key(o->seed, STREAM_SPLIT),
        .training_key = random_key(o->seed, STREAM_TRAINING),
        .held_out_key = random_key(o->seed, STREAM_HELD_OUT),
    };
    task_number_tokens(&t->task);
    return &t->task;
}
