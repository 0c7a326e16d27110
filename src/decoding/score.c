#include "decoding/score.h"
#include "decoding/decode.h"
#include "text/encoding.h"
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

/* A text as rows, one after another: row i has ids start[i] … start[i + 1] - 1 of inputs and of targets. */
typedef struct Rows {
    int32_t *ids, *in, *out; /* ids: their memory */
    long *start, rows;
    double characters;
} Rows;

static bool rows_new(Rows *w, size_t rows, size_t tokens, Error *e) {
    *w = (Rows){.ids = calloc(2 * tokens + 1, sizeof *w->ids), .start = calloc(rows + 1, sizeof *w->start)};
    return (w->ids && w->start) || error_set(e, STATUS_NO_MEMORY, "memory: %zu tokens", tokens);
}

/* Windows side by side, as a validation. */
static bool read_windows(Rows *w, const SavedRun *r, const Passage *p, Error *e) {
    long n, context = r->model->config.max_length;
    if (!rows_new(w, p->length, p->length, e) ||
        !tokenizer_encode(r->tokenizer, p->where, p->text, p->length, w->ids, &n, e))
        return false;
    if (n < 2)
        return error_set(e, STATUS_BAD_DATA, "%s: found %ld token%s, need at least 2", p->where, n,
                         PLURAL(n));
    w->in = w->ids, w->out = w->ids + 1;
    w->characters = (double)(utf8_count(p->text, p->length) - tokenizer_characters(r->tokenizer, w->ids[0]));
    for (long at = 0; at < n - 1; w->start[++w->rows] = at) at = at + context < n - 1 ? at + context : n - 1;
    return true;
}

/* Lines as training has them: without empty ones, and cut at the context. */
static bool read_lines(Rows *w, const SavedRun *r, const Passage *p, Error *e) {
    long lines, n, at = 0, most = r->model->config.max_length, cut = 0;
    char where[ERROR_TEXT];
    Passage *line = texts_lines(p, 1, &lines, e);
    bool ok = line && rows_new(w, (size_t)lines, p->length + 2, e);
    w->in = w->ids, w->out = w->ids + (ok ? p->length + 2 : 0);
    for (long i = 0; ok && i < lines; i++) {
        const Passage *text = &line[i];
        if (text->length == 0) continue;
        snprintf(where, sizeof where, "%.200s: line %ld", p->where, i + 1);
        ok = tokenizer_encode(r->tokenizer, where, text->text, text->length, w->out + at, &n, e);
        if (!ok) break;
        w->out[at + n++] = r->end_id;
        w->characters += (double)utf8_count(text->text, text->length) + 1;
        cut += n > most;
        for (; n > most; n--) w->characters -= (double)tokenizer_characters(r->tokenizer, w->out[at + n - 1]);
        for (long k = 0; k < n; k++) w->in[at + k] = k ? w->out[at + k - 1] : r->begin_id;
        w->start[++w->rows] = at += n;
    }
    free(line);
    if (cut)
        fprintf(stderr, "%s: cut %ld line%s of more than %ld tokens\n", p->where, cut, PLURAL(cut), most);
    return ok && (w->rows || error_set(e, STATUS_BAD_DATA, "%s: found no line, need one", p->where));
}

static bool score_rows(Tape *t, const SavedRun *r, const Rows *w, const ScoreListener *l, Score *out,
                       Error *e) {
    enum { ROWS = 16 };
    long most = r->model->config.max_length < 256 ? ROWS : 1; /* rows of a pass */
    bool ok = true;
    if (l && !r->lines) l->token(l->context, w->in[0], NAN);
    for (long i = 0; ok && i < w->rows; i += most)
        ok = add_rows(t, r->model, NULL, 0, w->rows - i < most ? w->rows - i : most, w->start + i, w->in,
                      w->out, l, &out->nats, e);
    long tokens = w->start[w->rows];
    out->tokens += tokens, out->characters += w->characters;
    if (r->lines) out->lines += w->rows;
    for (long i = 0; i < tokens; i++) out->known += (double)tokenizer_characters(r->tokenizer, w->out[i]);
    return ok;
}

/* Reads the text as the run did: without a byte-order mark, and with its line ends. */
static bool score_text(Tape *t, const SavedRun *r, const char *path, const ScoreListener *l, Score *out,
                       Error *e) {
    Texts texts;
    Rows rows = {0};
    bool any_bytes = r->tokenizer->kind->any_bytes;
    bool ok = texts_open(&texts, path, r->unix_newlines, e) &&
              (any_bytes || text_check(path, texts.text->text, texts.text->length, e)) &&
              (r->lines ? read_lines : read_windows)(&rows, r, texts.text, e) &&
              score_rows(t, r, &rows, l, out, e);
    if (texts.byte_order_mark) fprintf(stderr, "%s: skipped a byte-order mark\n", ESCAPED(path));
    texts_close(&texts);
    free(rows.ids), free(rows.start);
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
    return (config_is_lm(&r->model->config) ? score_text : score_pairs)(t, r, path, l, out, e) &&
           (isfinite(out->nats) ||
            error_set(e, STATUS_BAD_DATA, "the model: found a loss of %g, need a finite number", out->nats));
}

void score_print(const Score *s, bool text, FILE *out) {
    double loss = s->nats / s->characters, unknown = 1 - s->known / s->characters;
    if (unknown > 0)
        fprintf(out, "%.4f nats/token, not comparable: %.3g %% of the characters are [UNK]; ",
                s->nats / (double)s->tokens, 100 * unknown);
    else
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
