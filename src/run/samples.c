#include "run/samples.h"
#include "decoding/decode.h"
#include "tasks/text_task.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Answers ---- */

static void show(const Tokenizer *k, BatchRow row, const int32_t *answer, long length, bool right,
                 char *text) {
    tokenizer_decode(k, row.source, row.S, text);
    fprintf(stderr, "  %s -> ", text);
    tokenizer_decode(k, answer, length, text);
    fprintf(stderr, "%s%s\n", text, right ? "" : "   (wrong)");
}

bool samples_answers(Trainer *t, long rows, bool shown, double *exact, Error *e) {
    const Task *task = t->task;
    const Batch *b = t->batch;
    Sampler greedy = {0};
    long most = task->max_T, right = 0, count = 0;
    int32_t *ids = calloc((size_t)(t->micro_batch * most), sizeof *ids); /* [micro-batch, max_T] */
    long *length = calloc((size_t)t->micro_batch, sizeof *length);
    char *text = malloc(UTF8_MAX * (size_t)most + 1);
    if (rows == 0 || rows > task->held_out) rows = task->held_out;
    bool ok = (ids && length && text) ||
              error_set(e, STATUS_NO_MEMORY, "memory: %ld answers of %ld tokens", t->micro_batch, most);
    for (long first = 0; ok && first < rows; first += count) {
        count = task_held_out_batch(task, first,
                                    rows - first < t->micro_batch ? rows - first : t->micro_batch, t->batch);
        ok = decode_answers(t->tape, t->model, &greedy, count, b->source_start, b->source, task->begin_id,
                            task->end_id, most, ids, length, e);
        for (long i = 0; ok && i < count; i++) {
            BatchRow row = batch_row(b, i);
            long want = row.T - 1; /* without end */
            bool same =
                length[i] == want && memcmp(ids + i * most, row.target_out, (size_t)want * sizeof *ids) == 0;
            right += same;
            if (shown) show(task->tokenizer, row, ids + i * most, length[i], same, text);
        }
    }
    *exact = (double)right / (double)rows;
    free(ids), free(length), free(text);
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
