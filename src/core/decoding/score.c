#include "decoding/score.h"
#include "decoding/decode.h"
#include "tasks/corpus.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 32 }; /* of a pass */

typedef struct Judge {
    Tape *tape;
    const SavedRun *run;
    bool lm;
    const ScoreListener *listener;
    Score *score;
} Judge;

/* Adds -log P of the batch's targets. */
static bool add_losses(const Judge *j, const Batch *b, Error *e) {
    Tape *t = j->tape;
    Tokens from = {0}, to = {0};
    long tokens = batch_target_tokens(b);
    bool no_grad = t->no_grad, training = t->training;
    bool ok = tokens_new(&from, b->rows, b->source_start[b->rows], e) &&
              tokens_new(&to, b->rows, tokens, e);
    t->no_grad = true;
    t->training = false;
    if (ok) {
        tokens_pack(&from, b->rows, b->source_start, b->source);
        tokens_pack(&to, b->rows, b->target_start, b->target_in);
        Forward f = {t, j->run->model, &from, &to};
        const Prediction *p = nn_predict(&f, nn_hidden(&f), b->target_out);
        ok = !tape_failed(t, e);
        for (long i = 0; i < (ok ? tokens : 0); i++) {
            j->score->nats += p[i].loss;
            if (j->listener->token && j->lm)
                j->listener->token(j->listener->context, b->target_out[i], p[i].loss);
        }
        tape_reset(t);
    }
    t->no_grad = no_grad;
    t->training = training;
    tokens_free(&from);
    tokens_free(&to);
    return ok;
}

/* Compares the greedy answers to the batch's sources with its targets. */
static bool add_answers(const Judge *j, const Batch *b, Error *e) {
    const SavedRun *r = j->run;
    long max = r->model->config.max_length, length[ROWS];
    size_t bytes = TOKEN_BYTES * (size_t)max + 1;
    int32_t *ids = calloc((size_t)(b->rows * max), sizeof *ids);
    char *text = malloc(3 * bytes), *answer = text + bytes, *target = answer + bytes;
    Sampler greedy = {.tokenizer = r->tokenizer};
    bool ok = (ids && text) || error_set(e, STATUS_NO_MEMORY, "memory: %ld answers", b->rows);
    ok = ok && decode_answers(j->tape, r->model, &greedy, b->rows, b->source_start, b->source,
                              r->begin_id, r->end_id, max, ids, length, e);
    for (long i = 0; i < (ok ? b->rows : 0); i++) {
        BatchRow row = batch_row(b, i);
        tokenizer_decode(r->tokenizer, row.source, row.S, text);
        size_t found = tokenizer_decode(r->tokenizer, ids + i * max, length[i], answer);
        size_t want = tokenizer_decode(r->tokenizer, row.target_out, row.T - 1, target);
        bool exact = found == want && memcmp(answer, target, want) == 0;
        j->score->exact += exact;
        if (j->listener->pair) j->listener->pair(j->listener->context, text, target, answer, exact);
    }
    free(ids);
    free(text);
    return ok;
}

/* The file as the run's task has it, and all of it to be judged. */
static Task *open_task(const SavedRun *r, const char *path, Error *e) {
    TaskOptions o = task_defaults();
    o.text = path;
    o.pairs = path;
    o.lines = r->lines;
    o.unix_newlines = r->unix_newlines;
    o.tokenizer = r->tokenizer->kind;
    o.vocabulary = model_notes_find(&r->notes, "vocabulary");
    o.context = r->model->config.max_length;
    o.validation = 0;
    return task_open(config_is_lm(&r->model->config) ? "lm" : "pairs", &o, e);
}

static bool add_batch(const Judge *j, const Batch *b, Error *e) {
    const Tokenizer *k = j->run->tokenizer;
    for (long i = 0; i < batch_target_tokens(b); i++)
        if (b->target_out[i] < k->size)
            j->score->characters += (double)tokenizer_characters(k, b->target_out[i]);
    j->score->tokens += batch_target_tokens(b);
    return add_losses(j, b, e) && (j->lm || add_answers(j, b, e));
}

static bool add_task(const Judge *j, const Task *task, Error *e) {
    const Corpus *c = task_text_corpus(task);
    const ScoreListener *l = j->listener;
    long max_rows = j->run->model->config.max_length < 256 ? ROWS : 1, row = 0;
    Batch *b = task_batch(task, max_rows, e);
    bool ok = b;
    if (ok && l->token && c && !c->line) l->token(l->context, c->ids[0], NAN);
    while (ok && row < task->held_out) {
        row += task_held_out_batch(task, row, max_rows, b);
        ok = add_batch(j, b, e);
        if (l->judged) l->judged(l->context, row, task->held_out);
    }
    batch_free(b);
    if (c && c->line) j->score->lines += task->held_out;
    if (!c) j->score->pairs += task->held_out;
    return ok;
}

bool score_file(Tape *t, const SavedRun *r, const char *path, const ScoreListener *l, Score *out,
                Error *e) {
    Judge judge = {t, r, config_is_lm(&r->model->config), l, out};
    char remark[REMARK] = "";
    Task *task = open_task(r, path, e);
    const Corpus *c = task ? task_text_corpus(task) : NULL;
    bool ok = task && add_task(&judge, task, e);
    if (c && c->long_lines)
        fprintf(stderr, "%s: cut %ld line%s of more than %ld tokens\n", ESCAPED(path),
                c->long_lines, PLURAL(c->long_lines), c->context);
    if (c && c->byte_order_mark) fprintf(stderr, "%s: skipped a byte-order mark\n", ESCAPED(path));
    if (task && !c) fputs(task->remark, stderr);
    if (c) corpus_remark_unmerged(c, path, remark);
    fputs(remark, stderr);
    task_free(task);
    return ok && (isfinite(out->nats) ||
                  error_set(e, STATUS_BAD_DATA,
                            "the model: found a loss of %g, need a finite number", out->nats));
}

void score_print(const Score *s, const SavedRun *r, FILE *out) {
    double loss = s->nats / s->characters;
    const char *unit = tokenizer_unit(r->tokenizer);
    fprintf(out, "%.4f nats/%s, %.4f bits/%s, perplexity %.2f a token; ", loss, unit, loss / log(2),
            unit, exp(s->nats / (double)s->tokens));
    fprintf(out, "%.0f %s%s, %ld token%s", s->characters, r->tokenizer->utf8 ? "character" : unit,
            PLURAL(s->characters), s->tokens, PLURAL(s->tokens));
    if (s->lines) fprintf(out, ", %ld line%s", s->lines, PLURAL(s->lines));
    if (!config_is_lm(&r->model->config))
        fprintf(out, ", %ld pair%s, %.2f %% answered exactly", s->pairs, PLURAL(s->pairs),
                100 * (double)s->exact / (double)s->pairs);
    fputs("\n", out);
}
