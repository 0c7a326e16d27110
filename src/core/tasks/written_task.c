#include "tasks/written_task.h"
#include "base/random.h"
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
    do number = t->writing.draw(random_key(key, attempt++), t->writing.max, source, target);
    while (task_written_held_out(&t->task, number) != held_out);
    long S = encode(&t->task, source, question), T = encode(&t->task, target, answer) + 1;
    BatchRow row = batch_add(b, S, T);
    memcpy(row.source, question, (size_t)S * sizeof *question);
    batch_teach(row, t->task.begin_id, answer, t->task.end_id);
}

static void add_training_row(const Task *task, uint64_t step, long row, Batch *b) {
    const WrittenTask *t = (const WrittenTask *)task;
    add_row(t, random_key(random_key(t->training_key, step), (uint64_t)row), false, b);
}

static void add_held_out_row(const Task *task, long row, Batch *b) {
    const WrittenTask *t = (const WrittenTask *)task;
    add_row(t, random_key(t->held_out_key, (uint64_t)row), true, b);
}

bool task_written_open(Task **out, const TaskKind *kind, const Writing *w, const TaskOptions *o,
                       Error *e) {
    WrittenTask *t = task_new(out, kind, sizeof *t, e);
    if (!t) return false;
    t->writing = *w;
    t->split_key = random_key(o->seed, STREAM_SPLIT);
    t->training_key = random_key(o->seed, STREAM_TRAINING);
    t->held_out_key = random_key(o->seed, STREAM_HELD_OUT);
    t->task.held_out = o->held_out;
    t->task.max_S = w->max_S;
    t->task.max_T = w->max_T + 1;
    t->task.add_training_row = add_training_row;
    t->task.add_held_out_row = add_held_out_row;
    t->task.tokenizer = tokenizer_parse(kind->choice.name, w->alphabet, e);
    if (t->task.tokenizer) task_number_tokens(&t->task);
    return t->task.tokenizer;
}
