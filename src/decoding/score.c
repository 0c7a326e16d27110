#include "decoding/score.h"
#include "base/file.h"
#include "tasks/pairs.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* Adds -log P of the tokens out, one after each token of in, of rows that begin at start[i]; seq2seq: of one row, after
 * the S tokens of its source. */
static bool add_rows(Tape *t, Model *m, const int32_t *source, long S, long rows, const long *start,
                     const int32_t *in, const int32_t *out, double *nats, Error *e) {
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
        for (long i = 0; ok && i < tokens; i++) *nats += p[i].loss;
        tape_reset(t);
    }
    t->no_grad = no_grad, t->training = training;
    tokens_free(&from), tokens_free(&to);
    return ok;
}

bool score_text(Tape *t, Model *m, const int32_t *ids, long n, double *nats, Error *e) {
    enum { WINDOWS = 16, TOKENS = 4096 }; /* of a pass, about */
    long context = m->config.max_length;
    bool ok = true;
    for (long at = 0; ok && at < n - 1;) {
        long start[WINDOWS + 1] = {at}, rows = 0;
        while (at < n - 1 && (rows == 0 || (rows < WINDOWS && rows * context < TOKENS))) {
            at = at + context < n - 1 ? at + context : n - 1;
            start[++rows] = at;
        }
        ok = add_rows(t, m, NULL, 0, rows, start, ids, ids + 1, nats, e);
    }
    return ok;
}

static int32_t *room_for(size_t tokens, Error *e) {
    int32_t *ids = calloc(tokens, sizeof *ids);
    if (!ids) error_set(e, STATUS_NO_MEMORY, "memory: %zu tokens", tokens);
    return ids;
}

static bool score_whole(Tape *t, const SavedRun *r, const char *path, Score *out, Error *e) {
    char *text;
    size_t size;
    long n;
    if (!file_read(path, 0, &text, &size, e)) return false;
    int32_t *ids = room_for(size + 1, e);
    bool ok = ids && tokenizer_encode(r->tokenizer, path, text, size, ids, &n, e) &&
              (n > 1 || error_set(e, STATUS_BAD_DATA, "%s: found %ld tokens, need at least 2", path, n));
    if (ok) {
        out->tokens = n - 1;
        out->characters = (double)utf8_count(text, size) / (double)n * (double)(n - 1);
        ok = score_text(t, r->model, ids, n, &out->nats, e);
    }
    free(ids), free(text);
    return ok;
}

/* ids has room for source, target, begin and end. */
static bool score_pair(Tape *t, const SavedRun *r, const Pair *p, const char *where, int32_t *ids, Score *out,
                       Error *e) {
    long S, T, most = r->model->config.max_length;
    if (!tokenizer_encode(r->tokenizer, where, p->source.text, p->source.length, ids, &S, e)) return false;
    int32_t *begin = ids + S; /* begin, target, end */
    if (!tokenizer_encode(r->tokenizer, where, p->target.text, p->target.length, begin + 1, &T, e))
        return false;
    begin[0] = r->begin_id, begin[++T] = r->end_id;
    if (S > most || T > most)
        return error_set(e, STATUS_BAD_DATA, "%s: found %ld symbols, need at most %ld", where, S > T ? S : T,
                         most);
    out->tokens += T, out->pairs++;
    out->characters += (double)utf8_count(p->target.text, p->target.length);
    return add_rows(t, r->model, ids, S, 1, (long[]){0, T}, begin, begin + 1, &out->nats, e);
}

static bool score_pairs(Tape *t, const SavedRun *r, const char *path, Score *out, Error *e) {
    PairFile f = {0};
    char remark[REMARK] = "", where[ERROR_TEXT];
    bool ok = pairs_read(&f, path, remark, e) &&
              (f.count || error_set(e, STATUS_BAD_DATA, "%s: found no pair, need one", path));
    for (long i = 0, line = 1; ok && i < f.count; i++) {
        const Pair *p = &f.pair[i];
        for (const char *c = i ? p[-1].target.text : f.data; c < p->source.text; c++) line += *c == '\n';
        snprintf(where, sizeof where, "%s: line %ld", path, line);
        int32_t *ids = room_for(p->source.length + p->target.length + 2, e);
        ok = ids && score_pair(t, r, p, where, ids, out, e);
        free(ids);
    }
    pairs_free(&f);
    return ok;
}

bool score_file(Tape *t, const SavedRun *r, const char *path, Score *out, Error *e) {
    *out = (Score){0};
    return (r->model->config.kind == KIND_LM ? score_whole : score_pairs)(t, r, path, out, e) &&
           (isfinite(out->nats) ||
            error_set(e, STATUS_BAD_DATA, "the model: found a loss of %g, need a finite number", out->nats));
}
