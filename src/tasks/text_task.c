/* lm: next-character prediction. A row is a window of the corpus; its targets are the window one character
 * later. There are no source, special tokens or padding. */
#include "tasks/text_task.h"
#include "base/random.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct TextTask {
    Task task;
    Corpus *corpus;
    uint64_t key;
} TextTask;

static void add_row(Batch *b, const int32_t *window, long context) {
    BatchRow row = batch_add(b, 0, context);
    memcpy(row.target_in, window, (size_t)context * sizeof *window);
    memcpy(row.target_out, window + 1, (size_t)context * sizeof *window);
}

static void training_rows(const Task *task, uint64_t step, long first, long rows, Batch *b) {
    const TextTask *t = (const TextTask *)task;
    const Corpus *c = t->corpus;
    batch_clear(b);
    for (long r = first; r < first + rows; r++)
        add_row(b, corpus_training_window(c, t->key, step, r), c->context);
}

static void held_out_rows(const Task *task, long first, long rows, Batch *b) {
    const Corpus *c = ((const TextTask *)task)->corpus;
    batch_clear(b);
    for (long r = first; r < first + rows; r++) add_row(b, corpus_held_out_window(c, r), c->context);
}

static void free_text_task(Task *task) {
    TextTask *t = (TextTask *)task;
    corpus_free(t->corpus);
    free(t);
}

const Corpus *task_text_corpus(const Task *task) {
    return task->free == free_text_task ? ((const TextTask *)task)->corpus : NULL;
}

bool task_yardsticks(const Task *task, Yardsticks *out, Error *e) {
    const Corpus *c = task_text_corpus(task);
    long symbols = task->tokenizer->size;
    *out = (Yardsticks){.uniform = log((double)symbols)};
    if (!c) return true;
    const int32_t *ids = c->ids + c->validation;
    out->unigram = corpus_unigram_entropy(ids, c->count - c->validation, symbols, e);
    out->bigram = corpus_bigram_entropy(ids, c->count - c->validation, symbols, e);
    return out->unigram >= 0 && out->bigram >= 0;
}

Task *task_text_open(const TaskKind *kind, const TaskOptions *o, Error *e) {
    TextTask *t = calloc(1, sizeof *t);
    if (!t) {
        error_set(e, STATUS_NO_MEMORY, "%s: no memory for a task", kind->name);
        return NULL;
    }
    t->corpus = corpus_load(o->text, o->unix_newlines, o->context, o->validation, e);
    if (!t->corpus) {
        if (e->status == STATUS_NO_INPUT && !strcmp(o->text, task_defaults().text)) {
            *e = (Error){0};
            error_set(e, STATUS_NO_INPUT, "%s: not in this directory, need --text FILE", o->text);
        }
        free(t);
        return NULL;
    }
    t->key = random_key(o->seed, STREAM_WINDOWS);
    t->task = (Task){
        .name = kind->name,
        .tokenizer = t->corpus->tokenizer,
        .vocab_size = t->corpus->tokenizer->size,
        .begin_id = NO_TOKEN,
        .end_id = NO_TOKEN,
        .pad_id = NO_TOKEN,
        .max_T = o->context,
        .held_out = corpus_held_out_windows(t->corpus),
        .training = training_rows,
        .validation = held_out_rows,
        .free = free_text_task,
    };
    return &t->task;
}
