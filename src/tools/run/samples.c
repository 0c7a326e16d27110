#include "run/samples.h"
#include "decoding/decode.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Answers ---- */

/* Memory for the answers to a micro-batch. */
typedef struct Answers {
    int32_t *ids; /* [micro-batch, max] */
    long *length; /* [micro-batch] */
    long max;
} Answers;

/* Compares the answers to the batch's rows with the right ones; returns how many are the same. */
static long judge_answers(const Trainer *t, const Answers *a) {
    long right = 0;
    for (long i = 0; i < t->batch->rows; i++) {
        BatchRow row = batch_row(t->batch, i);
        const int32_t *answer = a->ids + i * a->max;
        long want = row.T - 1; /* without end */
        bool same = a->length[i] == want &&
                    memcmp(answer, row.target_out, (size_t)want * sizeof *answer) == 0;
        right += same;
    }
    return right;
}

bool samples_answers(Trainer *t, long *rows, const EvaluationWatch *watch, double *exact,
                     Error *e) {
    const Task *task = t->task;
    const Batch *b = t->batch;
    Sampler greedy = {.tokenizer = task->tokenizer};
    long max = task->max_T, right = 0, first = 0;
    Answers a = {calloc((size_t)(t->micro_batch * max), sizeof *a.ids),
                 calloc((size_t)t->micro_batch, sizeof *a.length), max};
    if (*rows == 0 || *rows > task->held_out) *rows = task->held_out;
    bool ok = a.ids && a.length;
    if (!ok)
        error_set(e, STATUS_NO_MEMORY, "memory: %ld answers of %ld tokens", t->micro_batch, max);
    while (ok && first < *rows) {
        long next = *rows - first < t->micro_batch ? *rows - first : t->micro_batch;
        first += task_spread_batch(task, *rows, first, next, t->batch);
        ok = decode_answers(t->tape, t->model, &greedy, b->rows, b->source_start, b->source,
                            task->begin_id, task->end_id, max, a.ids, a.length, e);
        if (ok) right += judge_answers(t, &a);
        if (watch && !watch->goes_on(watch->context, first)) break;
    }
    *rows = first;
    *exact = (double)right / (double)first;
    free(a.ids);
    free(a.length);
    return ok;
}

/* Whether the model answers a question exactly as the text does; the line is to end there. */
static bool answers_question(Trainer *t, long question, int32_t *ids, bool *right, Error *e) {
    const Task *task = t->task;
    Sampler greedy = {.tokenizer = task->tokenizer};
    long prompt = 0, answer = task_text_question(task, question, ids, &prompt);
    int32_t *text = ids + task->max_T;
    *right = false;
    if (answer == 0) return true;
    memcpy(text, ids, (size_t)prompt * sizeof *ids);
    if (!decode_continue(t->tape, t->model, &greedy, text, prompt, answer + 1, NULL, NULL, e))
        return false;
    *right = memcmp(text + prompt, ids + prompt, (size_t)answer * sizeof *ids) == 0 &&
             task_text_line_ends(task, text[prompt + answer]);
    return true;
}

bool samples_questions(Trainer *t, long *rows, const EvaluationWatch *watch, double *exact,
                       Error *e) {
    long right = 0, done = 0, all = t->task->questions;
    int32_t *ids = calloc((size_t)(2 * t->task->max_T + 1), sizeof *ids);
    bool ok = ids || error_set(e, STATUS_NO_MEMORY, "memory: the answers");
    if (*rows == 0 || *rows > all) *rows = all;
    while (ok && done < *rows) {
        bool is_right = false;
        ok = answers_question(t, done * all / *rows, ids, &is_right, e);
        right += is_right;
        done++;
        if (watch && !watch->goes_on(watch->context, done)) break;
    }
    free(ids);
    *rows = done;
    *exact = (double)right / (double)done;
    return ok;
}

/* ---- One row ---- */

Tensor *samples_logits(Tape *t, Model *m, const int32_t *source, long S, const int32_t *target,
                       long T, Trace *trace, Error *e) {
    Tokens from = {0}, to = {0};
    Tensor *logits = NULL;
    if (tokens_new(&to, 1, T, e) && tokens_new(&from, 1, S, e)) {
        Forward f = {t, m, &from, &to, .trace = trace};
        tokens_fill(&to, 1, T, target, m->config.pad_id);
        tokens_fill(&from, 1, S, source, m->config.pad_id);
        t->training = false;
        logits = nn_logits(&f, nn_hidden(&f));
        if (tape_failed(t, e)) logits = NULL;
    }
    tokens_free(&from);
    tokens_free(&to);
    return logits;
}
