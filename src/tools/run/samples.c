#include "run/samples.h"
#include "decoding/decode.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Answers ---- */

/* Answers the sources of t->batch, and adds to *right how many answers are exact. ids and length
 * have memory for the answers. */
static bool answer_batch(Trainer *t, int32_t *ids, long *length, long *right, Error *e) {
    const Task *task = t->task;
    const Batch *b = t->batch;
    Sampler greedy = {.tokenizer = task->tokenizer};
    if (!decode_answers(t->tape, t->model, &greedy, b->rows, b->source_start, b->source,
                        task->begin_id, task->end_id, task->max_T, ids, length, e))
        return false;
    for (long i = 0; i < b->rows; i++) {
        BatchRow row = batch_row(b, i);
        long want = row.T - 1; /* without end */
        *right += length[i] == want &&
                  memcmp(ids + i * task->max_T, row.target_out, (size_t)want * sizeof *ids) == 0;
    }
    return true;
}

/* Adds 1 to *right if the model answers a question exactly as the text does; the line is to end
 * there. ids has memory for two rows and a token. */
static bool answer_question(Trainer *t, long question, int32_t *ids, long *right, Error *e) {
    const Task *task = t->task;
    Sampler greedy = {.tokenizer = task->tokenizer};
    long prompt = 0, answer = task_text_question(task, question, ids, &prompt);
    int32_t *text = ids + task->max_T;
    if (answer == 0) return true;
    memcpy(text, ids, (size_t)prompt * sizeof *ids);
    if (!decode_continue(t->tape, t->model, &greedy, text, prompt, answer + 1, NULL, NULL, e))
        return false;
    *right += memcmp(text + prompt, ids + prompt, (size_t)answer * sizeof *ids) == 0 &&
              task_text_line_ends(task, text[prompt + answer]);
    return true;
}

bool samples_answers(Trainer *t, long *rows, const EvaluationWatch *watch, double *exact,
                     Error *e) {
    const Task *task = t->task;
    bool lm = task_is_language_model(task), ok = true;
    long all = lm ? task->questions : task->held_out, right = 0, done = 0;
    int32_t *ids = calloc((size_t)((t->micro_batch + 1) * task->max_T + 1), sizeof *ids);
    long *length = calloc((size_t)t->micro_batch, sizeof *length);
    if (!ids || !length) ok = error_set(e, STATUS_NO_MEMORY, "memory: the answers");
    if (*rows == 0 || *rows > all) *rows = all;
    while (ok && done < *rows) {
        if (lm) {
            ok = answer_question(t, done++ * all / *rows, ids, &right, e);
        } else {
            done += task_spread_batch(task, *rows, done, t->micro_batch, t->batch);
            ok = answer_batch(t, ids, length, &right, e);
        }
        if (watch && !watch->goes_on(watch->context, done)) break;
    }
    *rows = done;
    *exact = (double)right / (double)done;
    free(ids);
    free(length);
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
