#include "decoding/score.h"
#include "base/file.h"
#include "decoding/decode.h"
#include "text/corpus.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Adds -log P of the tokens out, one after each token of in, of rows that begin at start[i]; seq2seq: of one
 * row, after the S tokens of its source. l: hears of them, or NULL. */
static bool add_rows(Tape *t, Model *m, const int32_t *source, long S, long rows, const long *start,
                     const int32_t *in, const int32_t *out, const ScoreListener *l, double *nats, Error *e) {
    Tokens from = {0}, to = {0};
    long tokens = start[rows] - start[0];
    bool no_grad = t->no_grad, training = t->training;
    bool ok = tokens_new(&from, 1, S, e) && tokens_new(&to, rows, tokens, e);
    t->no_grad = true, t->training = false;
    if (ok) {
        tokens_pack(&from, 1, (long[]){0, S}, source);
        tokens_pack(&to, rows, start, in);
        Forward f = {t, m, &from, &to};
        const Prediction *p = nn_predict(&f, nn_hidden(&f), out + start[0]);
        ok = !tape_failed(t, e);
        for (long i = 0; ok && i < tokens; i++) {
            *nats += p[i].loss;
            if (l) l->token(l->context, out[start[0] + i], p[i].loss);
        }
        tape_reset(t);
    }
    t->no_grad = no_grad, t->training = training;
    tokens_free(&from), tokens_free(&to);
    return ok;
}

static bool score_text(Tape *t, Model *m, const int32_t *ids, long n, const ScoreListener *l, double *nats,
                       Error *e) {
    enum { WINDOWS = 16 };
    long context = m->config.max_length, most = context < 256 ? WINDOWS : 1; /* windows of a pass */
    bool ok = true;
    if (l) l->token(l->context, ids[0], NAN);
    for (long at = 0; ok && at < n - 1;) {
        long start[WINDOWS + 1] = {at}, rows = 0;
        for (; rows < most && at < n - 1; start[++rows] = at)
            at = at + context < n - 1 ? at + context : n - 1;
        ok = add_rows(t, m, NULL, 0, rows, start, ids, ids + 1, l, nats, e);
    }
    return ok;
}

/* Reads the text as the run did: without a byte-order mark, and with its line ends. */
static bool score_whole(Tape *t, const SavedRun *r, const char *path, const ScoreListener *l, Score *out,
                        Error *e) {
    char *data;
    size_t size;
    long n;
    if (!file_read(path, 0, &data, &size, e)) return false;
    size_t mark = utf8_mark(data, size);
    char *text = data + mark;
    if (mark) fprintf(stderr, "%s: skipped a byte-order mark\n", ESCAPED(path));
    size = r->unix_newlines ? corpus_unix_newlines(text, size - mark) : size - mark;
    int32_t *ids = calloc(size + 1, sizeof *ids);
    bool ok = (ids || error_set(e, STATUS_NO_MEMORY, "memory: %zu tokens", size)) &&
              tokenizer_encode(r->tokenizer, path, text, size, ids, &n, e) &&
              (n > 1 ||
               error_set(e, STATUS_BAD_DATA, "%s: found %ld token%s, need at least 2", path, n, PLURAL(n))) &&
              score_text(t, r->model, ids, n, l, &out->nats, e);
    if (ok)
        out->tokens += n - 1,
            out->characters += (double)(utf8_count(text, size) - tokenizer_characters(r->tokenizer, ids[0]));
    for (long i = 1; ok && i < n; i++) out->known += (double)tokenizer_characters(r->tokenizer, ids[i]);
    free(ids), free(data);
    return ok;
}

static bool score_pair(Tape *t, const SavedRun *r, const Pair *p, const char *where, Score *out, Error *e) {
    long S, T, most = r->model->config.max_length;
    size_t room = p->source.length + p->target.length + 2;
    int32_t *source = calloc(room, sizeof *source), *target = source;
    bool ok = (source || error_set(e, STATUS_NO_MEMORY, "memory: %zu tokens", room)) &&
              tokenizer_encode(r->tokenizer, where, p->source.text, p->source.length, source, &S, e);
    if (ok) target += S; /* begin, target, end */
    ok = ok && tokenizer_encode(r->tokenizer, where, p->target.text, p->target.length, target + 1, &T, e);
    if (ok) {
        target[0] = r->begin_id, target[++T] = r->end_id;
        out->tokens += T, out->pairs++;
        out->characters += (double)utf8_count(p->target.text, p->target.length);
        for (long i = 1; i < T; i++) out->known += (double)tokenizer_characters(r->tokenizer, target[i]);
        ok = (S <= most && T <= most) ||
             error_set(e, STATUS_BAD_DATA, "%s: found %ld symbols, need at most %ld", where, S > T ? S : T,
                       most);
    }
    ok = ok && add_rows(t, r->model, source, S, 1, (long[]){0, T}, target, target + 1, NULL, &out->nats, e);
    free(source);
    return ok;
}

/* Compares greedy answers with the targets of at most ANSWERED pairs, whose sources have been encoded before. */
enum { ANSWERED = 32 };
static bool answer_pairs(Tape *t, const SavedRun *r, const Pair *p, long pairs, const ScoreListener *l,
                         Score *out, Error *e) {
    long most = r->model->config.max_length, start[ANSWERED + 1] = {0}, length[ANSWERED];
    size_t bytes = TOKEN_BYTES * (size_t)most + 1;
    int32_t *source = calloc((size_t)(ANSWERED * most), sizeof *source);
    int32_t *answer = calloc((size_t)(ANSWERED * most), sizeof *answer);
    char *text = malloc(bytes);
    Sampler greedy = {.tokenizer = r->tokenizer};
    bool ok = (source && answer && text) || error_set(e, STATUS_NO_MEMORY, "memory: %d answers", ANSWERED);
    for (long i = 0, n; ok && i < pairs; i++, start[i] = start[i - 1] + n)
        ok = tokenizer_encode(r->tokenizer, "", p[i].source.text, p[i].source.length, source + start[i], &n,
                              e);
    ok = ok && decode_answers(t, r->model, &greedy, pairs, start, source, r->begin_id, r->end_id, most,
                              answer, length, e);
    for (long i = 0; ok && i < pairs; i++) {
        size_t written = tokenizer_decode(r->tokenizer, answer + i * most, length[i], text);
        bool exact = written == p[i].target.length && memcmp(text, p[i].target.text, written) == 0;
        out->exact += exact;
        if (l) l->pair(l->context, &p[i], text, exact);
    }
    free(source), free(answer), free(text);
    return ok;
}

static bool score_pairs(Tape *t, const SavedRun *r, const char *path, const ScoreListener *l, Score *out,
                        Error *e) {
    PairFile f = {0};
    char remark[REMARK] = "", where[ERROR_TEXT];
    bool ok = pairs_read(&f, path, r->tokenizer->kind->any_bytes, remark, e) &&
              (f.count || error_set(e, STATUS_BAD_DATA, "%s: found no pair, need one", path));
    fputs(remark, stderr);
    for (long i = 0; ok && i < f.count; i++) {
        snprintf(where, sizeof where, "%s: line %ld", path, f.pair[i].line);
        ok = score_pair(t, r, &f.pair[i], where, out, e);
    }
    for (long i = 0; ok && i < f.count; i += ANSWERED)
        ok = answer_pairs(t, r, f.pair + i, f.count - i < ANSWERED ? f.count - i : ANSWERED, l, out, e);
    pairs_free(&f);
    return ok;
}

bool score_file(Tape *t, const SavedRun *r, const char *path, const ScoreListener *l, Score *out, Error *e) {
    return (config_is_lm(&r->model->config) ? score_whole : score_pairs)(t, r, path, l, out, e) &&
           (isfinite(out->nats) ||
            error_set(e, STATUS_BAD_DATA, "the model: found a loss of %g, need a finite number", out->nats));
}

void score_print(const Score *s, bool text, FILE *out) {
    double loss = s->nats / s->characters, unknown = 1 - s->known / s->characters;
    if (unknown > 0)
        fprintf(out, "%.4f nats/token, not comparable: %.1f %% of the characters are [UNK]; ",
                s->nats / (double)s->tokens, 100 * unknown);
    else
        fprintf(out, "%.4f nats/char, %.4f bits/char, perplexity %.2f a token; ", loss, loss / log(2),
                exp(s->nats / (double)s->tokens));
    fprintf(out, "%.0f character%s, %ld token%s", s->characters, PLURAL(s->characters), s->tokens,
            PLURAL(s->tokens));
    if (!text)
        fprintf(out, ", %ld pair%s, %.2f %% answered exactly", s->pairs, PLURAL(s->pairs),
                100 * (double)s->exact / (double)s->pairs);
    fputs("\n", out);
}
