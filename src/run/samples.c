#include "run/samples.h"
#include "decoding/decode.h"
#include "tasks/text_task.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Answers ---- */

typedef struct Answers {
    int32_t *ids; /* [micro-batch, max_T] */
    long *length; /* [micro-batch] */
    char *text;   /* of one answer, or of its source */
} Answers;

static bool answers_new(Answers *a, const Trainer *t, Error *e) {
    size_t rows = (size_t)t->micro_batch, most = (size_t)t->task->max_T;
    *a = (Answers){calloc(rows * most, sizeof *a->ids), calloc(rows, sizeof *a->length),
                   malloc(UTF8_MAX * most + 1)};
    return (a->ids && a->length && a->text) ||
           error_set(e, STATUS_NO_MEMORY, "memory: %ld answers of %ld tokens", t->micro_batch,
                     t->task->max_T);
}

static void answers_free(Answers *a) {
    free(a->ids);
    free(a->length);
    free(a->text);
}

static void show(const Tokenizer *k, const Answers *a, BatchRow row, long i, long most, bool right) {
    tokenizer_decode(k, row.source, row.S, a->text);
    fprintf(stderr, "  %s -> ", a->text);
    tokenizer_decode(k, a->ids + i * most, a->length[i], a->text);
    fprintf(stderr, "%s%s\n", a->text, right ? "" : "   (wrong)");
}

bool samples_answers(Trainer *t, long rows, bool shown, double *exact, Error *e) {
    const Task *task = t->task;
    const Batch *b = t->batch;
    Sampler greedy = {0};
    Answers a;
    long most = task->max_T, right = 0, count = 0;
    if (rows == 0 || rows > task->held_out) rows = task->held_out;
    bool ok = answers_new(&a, t, e);
    for (long first = 0; ok && first < rows; first += count) {
        count = task_held_out_batch(task, first,
                                    rows - first < t->micro_batch ? rows - first : t->micro_batch, t->batch);
        ok = decode_answers(t->tape, t->model, &greedy, count, b->source_start, b->source, task->begin_id,
                            task->end_id, most, a.ids, a.length, e);
        for (long i = 0; ok && i < count; i++) {
            BatchRow row = batch_row(b, i);
            long want = row.T - 1; /* without end */
            bool same = a.length[i] == want &&
                        memcmp(a.ids + i * most, row.target_out, (size_t)want * sizeof *a.ids) == 0;
            right += same;
            if (shown) show(task->tokenizer, &a, row, i, most, same);
        }
    }
    *exact = (double)right / (double)rows;
    answers_free(&a);
    return ok;
}

/* ---- Text ---- */

bool samples_text(Trainer *t, Error *e) {
    enum { PROMPT = 16, WRITTEN = 300 };
    const Corpus *corpus = task_text_corpus(t->task);
    int32_t ids[PROMPT + WRITTEN];
    char text[UTF8_MAX * (PROMPT + WRITTEN) + 1];
    long prompt = corpus->context < 4 * PROMPT ? (corpus->context + 3) / 4 : PROMPT;
    long there_is = corpus->count - corpus->validation - prompt,
         more = there_is < WRITTEN ? there_is : WRITTEN;
    memcpy(ids, corpus_held_out_window(corpus, 0), (size_t)prompt * sizeof *ids);
    Sampler sampler = {.temperature = 0.8, .seed = t->seed};
    if (!decode_continue(t->tape, t->model, &sampler, ids, prompt, more, NULL, NULL, e)) return false;
    tokenizer_decode(corpus->tokenizer, ids, prompt + more, text);
    fprintf(stderr, "a sample at temperature 0.8, prompted with %ld character%s:\n%s\n", prompt,
            prompt == 1 ? "" : "s", text);
    return true;
}

bool samples_yardsticks(const Trainer *t, Error *e) {
    Yardsticks y;
    if (!task_yardsticks(t->task, &y, e)) return false;
    fprintf(stderr, "yardsticks: uniform %.3f, unigram entropy %.3f, bigram entropy %.3f\n", y.uniform,
            y.unigram, y.bigram);
    return true;
}
