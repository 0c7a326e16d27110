#include "decoding/score.h"
#include "decoding/decode.h"
#include "tasks/corpus.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Adds -log P of the tokens out, one after each token of in, of rows that begin at start[i], the
 * first at 0; seq2seq: of one row, after the S tokens of its source. l: hears of them, or NULL. */
static bool add_rows(Tape *t, Model *m, const int32_t *source, long S, long rows, const long *start,
                     const int32_t *in, const int32_t *out, const ScoreListener *l, double *nats,
                     Error *e) {
    Tokens from = {0}, to = {0};
    long tokens = start[rows];
    bool no_grad = t->no_grad, training = t->training;
    bool ok = tokens_new(&from, 1, S, e) && tokens_new(&to, rows, tokens, e);
    t->no_grad = true;
    t->training = false;
    if (ok) {
        tokens_pack(&from, 1, (long[]){0, S}, source);
        tokens_pack(&to, rows, start, in);
        Forward f = {t, m, &from, &to};
        const Prediction *p = nn_predict(&f, nn_hidden(&f), out);
        ok = !tape_failed(t, e);
        for (long i = 0; i < tokens; i++) {
            if (!ok) break;
            *nats += p[i].loss;
            if (l) l->token(l->context, out[i], p[i].loss);
        }
        tape_reset(t);
    }
    t->no_grad = no_grad;
    t->training = training;
    tokens_free(&from);
    tokens_free(&to);
    return ok;
}

/* The text as the lm task has it, which reads it as the run did, and judges all of it. */
static Task *open_text(const SavedRun *r, const char *path, Error *e) {
    TaskOptions o = task_defaults();
    o.text = path;
    o.lines = r->lines;
    o.unix_newlines = r->unix_newlines;
    o.tokenizer = r->tokenizer->kind;
    o.vocabulary = model_notes_find(&r->notes, "vocabulary");
    o.context = r->model->config.max_length;
    o.validation = 0;
    return task_open("lm", &o, e);
}

static bool score_text(Tape *t, const SavedRun *r, const char *path, const ScoreListener *l,
                       Score *out, Error *e) {
    enum { ROWS = 16 };
    long max_rows = r->model->config.max_length < 256 ? ROWS : 1; /* rows of a pass */
    Task *task = open_text(r, path, e);
    const Corpus *c = task ? task_text_corpus(task) : NULL;
    Batch *b = task ? task_batch(task, max_rows, e) : NULL;
    bool ok = b;
    if (ok && l && !r->lines) l->token(l->context, c->ids[0], NAN);
    long row = 0;
    while (ok) {
        long count = task_held_out_batch(task, row, max_rows, b);
        if (count == 0) break;
        ok = add_rows(t, r->model, NULL, 0, count, b->target_start, b->target_in, b->target_out, l,
                      &out->nats, e);
        out->tokens += batch_target_tokens(b);
        for (long i = 0; i < batch_target_tokens(b); i++)
            out->characters += (double)tokenizer_characters(r->tokenizer, b->target_out[i]);
        row += count;
    }
    if (ok && r->lines) out->lines += task->held_out;
    if (c && c->long_lines)
        fprintf(stderr, "%s: cut %ld line%s of more than %ld tokens\n", ESCAPED(path),
                c->long_lines, PLURAL(c->long_lines), c->context);
    if (c && c->byte_order_mark) fprintf(stderr, "%s: skipped a byte-order mark\n", ESCAPED(path));
    batch_free(b);
    task_free(task);
    return ok;
}

static bool score_pair(Tape *t, const SavedRun *r, const Pair *p, const char *where, Score *out,
                       Error *e) {
    long S, T, max_tokens = r->model->config.max_length;
    size_t capacity = p->source.length + p->target.length + 2;
    int32_t *source = calloc(capacity, sizeof *source), *target = source;
    bool ok =
        (source || error_set(e, STATUS_NO_MEMORY, "memory: %zu tokens", capacity)) &&
        tokenizer_encode(r->tokenizer, where, p->source.text, p->source.length, source, &S, e);
    if (ok) target += S; /* begin, target, end */
    ok = ok &&
         tokenizer_encode(r->tokenizer, where, p->target.text, p->target.length, target + 1, &T, e);
    if (ok) {
        target[0] = r->begin_id;
        target[++T] = r->end_id;
        out->tokens += T;
        out->pairs++;
        out->characters += (double)utf8_count(p->target.text, p->target.length);
        ok = (S <= max_tokens && T <= max_tokens) ||
             error_set(e, STATUS_BAD_DATA, "%s: found %ld symbols, need at most %ld", where,
                       S > T ? S : T, max_tokens);
    }
    ok = ok && add_rows(t, r->model, source, S, 1, (long[]){0, T}, target, target + 1, NULL,
                        &out->nats, e);
    free(source);
    return ok;
}

/* Compares greedy answers with the targets of at most ANSWERED pairs, whose sources have been
 * encoded before. */
enum { ANSWERED = 32 };
static bool answer_pairs(Tape *t, const SavedRun *r, const Pair *p, long pairs,
                         const ScoreListener *l, Score *out, Error *e) {
    long max_tokens = r->model->config.max_length, start[ANSWERED + 1] = {0}, length[ANSWERED];
    size_t bytes = TOKEN_BYTES * (size_t)max_tokens + 1;
    int32_t *source = calloc((size_t)(ANSWERED * max_tokens), sizeof *source);
    int32_t *answer = calloc((size_t)(ANSWERED * max_tokens), sizeof *answer);
    char *text = malloc(bytes);
    Sampler greedy = {.tokenizer = r->tokenizer};
    bool ok = (source && answer && text) ||
              error_set(e, STATUS_NO_MEMORY, "memory: %d answers", ANSWERED);
    for (long i = 0; i < pairs; i++) {
        if (!ok) break;
        long n = 0;
        ok = tokenizer_encode(r->tokenizer, "", p[i].source.text, p[i].source.length,
                              source + start[i], &n, e);
        start[i + 1] = start[i] + n;
    }
    ok = ok && decode_answers(t, r->model, &greedy, pairs, start, source, r->begin_id, r->end_id,
                              max_tokens, answer, length, e);
    for (long i = 0; i < pairs; i++) {
        if (!ok) break;
        size_t written = tokenizer_decode(r->tokenizer, answer + i * max_tokens, length[i], text);
        bool exact = written == p[i].target.length && memcmp(text, p[i].target.text, written) == 0;
        out->exact += exact;
        if (l) l->pair(l->context, &p[i], text, exact);
    }
    free(source);
    free(answer);
    free(text);
    return ok;
}

static bool score_pairs(Tape *t, const SavedRun *r, const char *path, const ScoreListener *l,
                        Score *out, Error *e) {
    PairFile f = {0};
    char remark[REMARK] = "", where[ERROR_TEXT];
    bool ok = pairs_read(&f, path, r->tokenizer->kind->any_bytes, remark, e) &&
              (f.count || error_set(e, STATUS_BAD_DATA, "%s: found no pair, need one", path));
    fputs(remark, stderr);
    for (long i = 0; i < f.count; i++) {
        if (!ok) break;
        snprintf(where, sizeof where, "%s: line %ld", path, f.pair[i].line);
        ok = score_pair(t, r, &f.pair[i], where, out, e);
    }
    for (long i = 0; i < f.count; i += ANSWERED) {
        if (!ok) break;
        long left = f.count - i;
        ok = answer_pairs(t, r, f.pair + i, left < ANSWERED ? left : ANSWERED, l, out, e);
    }
    pairs_free(&f);
    return ok;
}

bool score_file(Tape *t, const SavedRun *r, const char *path, const ScoreListener *l, Score *out,
                Error *e) {
    return (config_is_lm(&r->model->config) ? score_text : score_pairs)(t, r, path, l, out, e) &&
           (isfinite(out->nats) ||
            error_set(e, STATUS_BAD_DATA, "the model: found a loss of %g, need a finite number",
                      out->nats));
}

void score_print(const Score *s, bool text, FILE *out) {
    double loss = s->nats / s->characters;
    fprintf(out, "%.4f nats/char, %.4f bits/char, perplexity %.2f a token; ", loss, loss / log(2),
            exp(s->nats / (double)s->tokens));
    fprintf(out, "%.0f character%s, %ld token%s", s->characters, PLURAL(s->characters), s->tokens,
            PLURAL(s->tokens));
    if (s->lines) fprintf(out, ", %ld line%s", s->lines, PLURAL(s->lines));
    if (!text)
        fprintf(out, ", %ld pair%s, %.2f %% answered exactly", s->pairs, PLURAL(s->pairs),
                100 * (double)s->exact / (double)s->pairs);
    fputs("\n", out);
}
