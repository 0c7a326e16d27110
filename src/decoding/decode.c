/* While a text fits into a language model's context, each token is computed alone, with the cache of earlier
 * ones. After that the window slides: all its tokens change position, which invalidates the cache, and the
 * whole window is computed again. A window that slides by one token pays this price for every token. A window
 * that slides by half the context pays it once in that many tokens, and a token sees between half and all of
 * the context. With rotary positions the cache holds, as attention depends on distances alone. */
#include "decoding/decode.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static long smaller(long a, long b) {
    return a < b ? a : b;
}

static bool take_memory(Decoder *d, const Given *given, Error *e) {
    const ModelConfig *c = &d->model->config;
    long n = d->sequences, sources = given->sources ? given->start[given->sources] - given->start[0] : 0;
    long window = d->lm ? smaller(d->room, c->max_length) : 1;
    size_t all = (size_t)(n * d->room) + 1;
    d->tokens = calloc((size_t)n + 1, sizeof *d->tokens);
    d->ended = calloc((size_t)n + 1, sizeof *d->ended);
    d->ids = calloc(all, sizeof *d->ids), d->other = calloc(all, sizeof *d->other);
    d->window = calloc((size_t)(n * window) + 1, sizeof *d->window);
    d->probability = calloc(2 * (size_t)c->vocab_size, sizeof *d->probability);
    if (!d->tokens || !d->ended || !d->ids || !d->other || !d->window || !d->probability)
        return error_set(e, STATUS_NO_MEMORY, "memory: %ld sequence%s of %ld tokens", n, PLURAL(n), d->room);
    return tokens_new(&d->source, n, sources, e) && tokens_new(&d->target, n, n * window, e) &&
           kv_cache_new(&d->cache, c, &d->model->parameters, n, d->slides ? window : d->room, sources, e);
}

bool decoder_open(Decoder *d, Tape *t, Model *m, long sequences, const Given *given, long more, Error *e) {
    long n = given->prompt_tokens, context = m->config.max_length;
    *d = (Decoder){
        .tape = t, .model = m, .sequences = sequences, .length = n, .slide = 1, .next = given->next};
    d->lm = config_is_lm(&m->config), d->slides = d->lm && !m->config.positions->relative;
    d->no_grad = t->no_grad, d->training = t->training;
    t->no_grad = true, t->training = false;
    d->room = n + (d->lm ? more : smaller(more, context));
    d->same = sequences > 1 && given->sources <= 1;
    if (given->slide > 0) d->slide = smaller(given->slide, context);
    if (d->lm && n > context) d->first = n - context;
    if (!take_memory(d, given, e)) return false;
    if (!d->lm) tokens_pack(&d->source, given->sources, given->start, given->source);
    /* The one source belongs to the first sequence until the others have something to read it with. */
    for (long i = given->sources; i < sequences; i++) d->source.start[i] = d->source.rows[i] = 0;
    d->source.sequences.count = sequences;
    for (long i = 0; i < sequences; i++) {
        memcpy(decoder_ids(d, i), given->prompt, (size_t)n * sizeof *d->ids);
        d->tokens[i] = n;
    }
    return true;
}

void decoder_close(Decoder *d) {
    tape_reset(d->tape);
    d->tape->no_grad = d->no_grad, d->tape->training = d->training;
    tokens_free(&d->source), tokens_free(&d->target);
    kv_cache_free(&d->cache);
    free(d->tokens), free(d->ended), free(d->ids), free(d->other), free(d->window), free(d->probability);
}

/* Gathers the tokens from `first` on of the sequences to be computed; the others have none. */
static void read_window(Decoder *d, long first) {
    long n = d->length - first;
    for (long i = 0; i < d->sequences; i++)
        for (long j = 0; j < n; j++)
            d->window[i * n + j] = d->ended[i] || (d->same && i > 0) ? NO_PAD : decoder_ids(d, i)[first + j];
}

/* Hands the first sequence's keys and source to all. */
static void spread(Decoder *d) {
    long *from = d->tokens; /* all are the prompt's: written again below */
    for (long i = 0; i < d->sequences; i++) from[i] = 0;
    kv_cache_reorder(&d->cache, from);
    for (long i = 0; i < d->sequences; i++) {
        from[i] = d->length;
        if (d->lm) continue;
        d->source.start[i] = d->source.start[0];
        d->source.rows[i] = d->source.rows[0];
    }
}

static bool check_scores(const real *scores, long count, Error *e) {
    for (long i = 0; i < count; i++)
        if (!isfinite(scores[i]))
            return error_set(e, STATUS_BAD_DATA,
                             "the model: found a score of %g for token %ld, need a finite number",
                             (double)scores[i], i);
    return true;
}

/* Position of the scores after the text of a sequence. */
static real *scores_of(const Decoder *d, long sequence) {
    long i = d->same ? 0 : sequence;
    return d->scores +
           (d->target.start[i] + d->target.rows[i] - 1 - d->scores_from) * d->model->config.vocab_size;
}

static void hide_tokens(Decoder *d) {
    for (long i = 0; i < (d->same ? 1 : d->sequences); i++)
        if (!d->ended[i])
            next_tokens_hide(&d->next, decoder_ids(d, i), d->length, d->model->config.vocab_size,
                             scores_of(d, i));
}

bool decoder_next(Decoder *d, Error *e) {
    const ModelConfig *c = &d->model->config;
    tape_reset(d->tape);
    if (d->slides && d->length - d->first > c->max_length) {
        d->first += d->slide;
        d->known = false;
    }
    read_window(d, d->known ? d->length - 1 : d->first);
    Forward f = {d->tape, d->model, &d->source, &d->target, &d->cache};
    if (d->known) {
        tokens_next(&d->target, d->sequences, d->window, d->length - 1 - d->first);
    } else {
        kv_cache_clear(&d->cache);
        tokens_fill(&d->target, d->sequences, d->length - d->first, d->window, NO_PAD);
    }
    const Sequences *s = &d->target.sequences;
    Tensor *hidden = d->lm || !d->known ? nn_hidden(&f) : nn_decoder(&f);
    long i = 0;
    while (i < d->sequences - 1 && !s->rows[i]) i++;
    d->scores_from = s->start[i] + s->rows[i] - 1;
    Tensor *logits = nn_logits(&f, tape_slice(d->tape, hidden, 0, d->scores_from, s->total_rows));
    if (tape_failed(d->tape, e)) return false;
    d->scores = logits->data;
    if (d->same) spread(d);
    d->known = true;
    if (!check_scores(d->scores, shape_count(logits->shape), e)) return false;
    hide_tokens(d);
    return true;
}

Scores decoder_scores(const Decoder *d, long sequence) {
    return (Scores){d->model->config.vocab_size, scores_of(d, sequence), decoder_ids(d, sequence), d->length};
}

void decoder_reorder(Decoder *d, const long *from) {
    int32_t *ids = d->ids;
    d->ids = d->other, d->other = ids;
    for (long i = 0; i < d->sequences; i++) {
        d->ended[i] = from[i] < 0;
        if (d->ended[i]) continue;
        memcpy(decoder_ids(d, i), ids + from[i] * d->room, (size_t)d->length * sizeof *ids);
    }
    kv_cache_reorder(&d->cache, from);
}

bool decoder_run(Decoder *d, const Sampler *s, bool (*chosen)(void *context, long sequence, int32_t id),
                 void *context, Error *e) {
    bool alone = d->same;
    for (long live = d->sequences; live && d->length < d->room;) {
        if (!decoder_next(d, e)) return false;
        live = 0;
        for (long i = 0; i < d->sequences; i++) {
            if (d->ended[i]) continue;
            Sampler own = *s;
            Scores scores = decoder_scores(d, i);
            if (alone) own.seed += (uint64_t)i;
            int32_t id = (int32_t)decode_choose(&own, &scores, alone ? 0 : (uint64_t)i, d->probability);
            d->ended[i] = id == d->next.end_id;
            if (!d->ended[i]) decoder_ids(d, i)[d->tokens[i]++] = id;
            if (chosen && !chosen(context, i, id)) d->ended[i] = true;
            live += !d->ended[i];
        }
        d->length++, d->same = false;
    }
    return true;
}

bool decode_answers(Tape *t, Model *m, const Sampler *s, long count, const long *start, const int32_t *source,
                    int32_t begin_id, int32_t end_id, long most, int32_t *out, long *length, Error *e) {
    Decoder d;
    Given given = {&begin_id, 1,      start ? count : 0,
                   start,     source, .next = {s->tokenizer, begin_id, end_id, m->config.pad_id}};
    bool ok = decoder_open(&d, t, m, count, &given, most, e) && decoder_run(&d, s, NULL, NULL, e);
    for (long i = 0; ok && i < count; i++) {
        length[i] = d.tokens[i] - 1;
        memcpy(out + i * most, decoder_ids(&d, i) + 1, (size_t)length[i] * sizeof *out);
    }
    decoder_close(&d);
    return ok;
}

bool decode_continue(Tape *t, Model *m, const Sampler *s, int32_t *ids, long n, long more,
                     bool (*emit)(void *context, long sequence, int32_t id), void *context, Error *e) {
    Decoder d;
    Given given = {.prompt = ids,
                   .prompt_tokens = n,
                   .slide = s->slide,
                   .next = {s->tokenizer, NO_PAD, NO_PAD, m->config.pad_id}};
    bool ok = decoder_open(&d, t, m, 1, &given, more, e) && decoder_run(&d, s, emit, context, e);
    if (ok) memcpy(ids + n, decoder_ids(&d, 0) + n, (size_t)(d.tokens[0] - n) * sizeof *ids);
    decoder_close(&d);
    return ok;
}
