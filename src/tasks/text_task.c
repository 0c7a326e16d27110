/* lm: next-token prediction. A row is a window of the corpus; its targets are the window one token
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

static void add_row(Batch *b, const Corpus *c, long first) {
    BatchRow row = batch_add(b, 0, c->context);
    corpus_copy(c, first, c->context, row.target_in);
    corpus_copy(c, first + 1, c->context, row.target_out);
}

static void training_rows(const Task *task, uint64_t step, long first, long rows, Batch *b) {
    const TextTask *t = (const TextTask *)task;
    batch_clear(b);
    for (long r = first; r < first + rows; r++)
        add_row(b, t->corpus, corpus_training_window(t->corpus, t->key, step, r));
}

static void held_out_rows(const Task *task, long first, long rows, Batch *b) {
    const Corpus *c = ((const TextTask *)task)->corpus;
    batch_clear(b);
    for (long r = first; r < first + rows; r++) add_row(b, c, corpus_held_out_window(c, r));
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
    const uint16_t *ids = c->ids + c->validation;
    out->unigram = corpus_unigram_entropy(ids, c->count - c->validation, symbols, e);
    out->bigram = corpus_bigram_entropy(ids, c->count - c->validation, symbols, e);
    return out->unigram >= 0 && out->bigram >= 0;
}

/* Reports invisible characters, and what a short or strange text makes of the options. */
static void remark(const Corpus *c, const TaskOptions *o, char out[REMARK]) {
    out[0] = 0;
    bool all = c->without_tail || (c->validation == 0 && c->count < 2000);
    if (c->context < o->context || all)
        task_remark(out, "%s: a short text: context %ld%s; a longer one teaches more", o->text, c->context,
                    all ? ", nothing held out" : "");
    if (c->byte_order_mark) task_remark(out, "%s: skipped a byte-order mark", o->text);
    if (c->carriage_returns)
        task_remark(out,
                    "%s: kept %ld carriage returns as characters; --newline unix removes those of line ends",
                    o->text, c->carriage_returns);
    if (c->unknown)
        task_remark(out, "%s: %.1f %% of the held-out tokens are [UNK]; the loss does not say what they are",
                    o->text, 100 * (double)c->unknown / (double)(c->count - c->validation));
}

Task *task_text_open(const TaskKind *kind, const TaskOptions *o, Error *e) {
    TextTask *t = calloc(1, sizeof *t);
    if (!t) {
        error_set(e, STATUS_NO_MEMORY, "%s: no memory for a task", kind->name);
        return NULL;
    }
    CorpusOptions options = {o->tokenizer,  o->vocab_size,    o->context,
                             o->validation, o->unix_newlines, o->progress};
    t->corpus = corpus_load(o->text, &options, e);
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
        .max_T = t->corpus->context,
        .held_out = corpus_held_out_windows(t->corpus),
        .characters = (double)t->corpus->characters / (double)(t->corpus->count - t->corpus->validation),
        .nothing_held_out = t->corpus->validation == 0,
        .checksum = t->corpus->checksum,
        .training = training_rows,
        .validation = held_out_rows,
        .free = free_text_task,
    };
    remark(t->corpus, o, t->task.remark);
    return &t->task;
}
