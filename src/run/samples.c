#include "run/samples.h"
#include "decoding/decode.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Prints what a model wrote: it may end inside a character. */
static void print_written(const char *text) {
    utf8_print(stderr, text, utf8_whole(text, strlen(text)));
}

/* ---- Answers ---- */

static void show(const Tokenizer *k, BatchRow row, const int32_t *answer, long length, bool right,
                 char *text) {
    tokenizer_decode(k, row.source, row.S, text);
    fputs("  ", stderr);
    utf8_print(stderr, text, strlen(text));
    fputs(" -> ", stderr);
    tokenizer_decode(k, answer, length, text);
    print_written(text);
    fprintf(stderr, "%s\n", right ? "" : "   (wrong)");
}

/* Memory for the answers to a micro-batch. */
typedef struct Answers {
    int32_t *ids; /* [micro-batch, max] */
    long *length; /* [micro-batch] */
    char *text;
    long max;
} Answers;

/* Compares the answers to the batch's rows with the right ones; returns how many are the same. */
static long judge_answers(const Trainer *t, const Answers *a, bool shown) {
    long right = 0;
    for (long i = 0; i < t->batch->rows; i++) {
        BatchRow row = batch_row(t->batch, i);
        const int32_t *answer = a->ids + i * a->max;
        long want = row.T - 1; /* without end */
        bool same = a->length[i] == want &&
                    memcmp(answer, row.target_out, (size_t)want * sizeof *answer) == 0;
        right += same;
        if (shown) show(t->task->tokenizer, row, answer, a->length[i], same, a->text);
    }
    return right;
}

bool samples_answers(Trainer *t, long rows, bool shown, double *exact, Error *e) {
    const Task *task = t->task;
    const Batch *b = t->batch;
    Sampler greedy = {.tokenizer = task->tokenizer};
    long max = task->max_T, longest = max > task->max_S ? max : task->max_S, right = 0, first = 0;
    Answers a = {calloc((size_t)(t->micro_batch * max), sizeof *a.ids),
                 calloc((size_t)t->micro_batch, sizeof *a.length),
                 malloc(TOKEN_BYTES * (size_t)longest + 1), max};
    if (rows == 0 || rows > task->held_out) rows = task->held_out;
    bool ok = a.ids && a.length && a.text;
    if (!ok)
        error_set(e, STATUS_NO_MEMORY, "memory: %ld answers of %ld tokens", t->micro_batch, max);
    while (ok && first < rows) {
        long next = rows - first < t->micro_batch ? rows - first : t->micro_batch;
        first += task_spread_batch(task, shown ? task->held_out : rows, first, next, t->batch);
        ok = decode_answers(t->tape, t->model, &greedy, b->rows, b->source_start, b->source,
                            task->begin_id, task->end_id, max, a.ids, a.length, e);
        if (ok) right += judge_answers(t, &a, shown);
    }
    *exact = (double)right / (double)rows;
    free(a.ids);
    free(a.length);
    free(a.text);
    return ok;
}

/* ---- Text ---- */

/* Ends the text after its last sentence or line, unless that leaves less than half. */
static void end_sentence(char *text) {
    static const char *const ends[] = {".", "!", "?", "\n", "。", "！", "？"};
    size_t length = strlen(text), end = length;
    for (size_t at = length / 2; at < length; at++)
        for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
            if (strncmp(text + at, ends[i], strlen(ends[i])) == 0) end = at + strlen(ends[i]);
    end += strspn(text + end, "\"')");
    text[end] = 0;
}

long samples_text_tokens(const Task *task) {
    enum { CHARACTERS = 400 };
    double tokens = task->characters > 0 ? CHARACTERS / task->characters : MAX_SAMPLE / 4;
    return tokens < MAX_SAMPLE ? (long)tokens : MAX_SAMPLE;
}

bool samples_lines(Trainer *t, long lines, Error *e) {
    const Task *task = t->task;
    Sampler sampler = {.temperature = 0.8, .seed = t->seed, .tokenizer = task->tokenizer};
    int32_t *ids = calloc((size_t)task->max_T, sizeof *ids);
    char *text = malloc(TOKEN_BYTES * (size_t)task->max_T + 1);
    bool ok = (ids && text) ||
              error_set(e, STATUS_NO_MEMORY, "memory: a line of %ld tokens", task->max_T);
    if (ok) fputs("samples at temperature 0.8:\n", stderr);
    while (ok && lines-- > 0) {
        long length;
        ok = decode_answers(t->tape, t->model, &sampler, 1, NULL, NULL, task->begin_id,
                            task->end_id, task->max_T, ids, &length, e);
        if (!ok) break;
        tokenizer_decode(task->tokenizer, ids, length, text);
        print_written(text);
        fputs("\n", stderr);
        sampler.seed++;
    }
    free(ids);
    free(text);
    return ok;
}

bool samples_text(Trainer *t, Error *e) {
    enum { PROMPT = 1 };
    const Task *task = t->task;
    int32_t ids[PROMPT + MAX_SAMPLE] = {task->opening_id};
    char text[TOKEN_BYTES * (PROMPT + MAX_SAMPLE) + 1];
    long more = samples_text_tokens(task);
    Sampler sampler = {.temperature = 0.8, .seed = t->seed, .tokenizer = task->tokenizer};
    if (!decode_continue(t->tape, t->model, &sampler, ids, PROMPT, more, NULL, NULL, e))
        return false;
    long hidden = tokenizer_state(task->tokenizer, ids, PROMPT)
                      ? 0
                      : PROMPT; /* what follows completes a character */
    tokenizer_decode(task->tokenizer, ids + hidden, PROMPT - hidden + more, text);
    end_sentence(text);
    fputs("a sample at temperature 0.8:\n", stderr);
    print_written(text);
    fputs("\n", stderr);
    return true;
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
