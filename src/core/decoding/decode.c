/* While a text fits into a language model's context, each token is computed alone, with the cache
 * of earlier tokens. In a longer text the window moves by half a context at a time. The positions
 * of its tokens change then, so that the whole window is computed again, once for every half a
 * context of new tokens. */
#include "decoding/decode.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static long smaller(long a, long b) {
    return a < b ? a : b;
}

long decode_window_start(long length, long context) {
    long shift = (context + 1) / 2;
    if (length <= context) return 0;
    return (length - context + shift - 1) / shift * shift;
}

static bool take_memory(Decoder *d, const Given *given, Error *e) {
    const ModelConfig *c = &d->model->config;
    long n = d->sequences, source_rows = 0;
    long window = smaller(d->capacity, c->max_length);
    size_t tokens = (size_t)(n * d->capacity) + 1;
    if (given->sources) source_rows = given->start[given->sources] - given->start[0];
    d->tokens = calloc((size_t)n + 1, sizeof *d->tokens);
    d->ended = calloc((size_t)n + 1, sizeof *d->ended);
    d->ids = calloc(tokens, sizeof *d->ids);
    d->other = calloc(tokens, sizeof *d->other);
    d->window = calloc((size_t)(n * window) + 1, sizeof *d->window);
    d->probability = calloc(2 * (size_t)c->vocab_size, sizeof *d->probability);
    if (!d->tokens || !d->ended || !d->ids || !d->other || !d->window || !d->probability)
        return error_set(e, STATUS_NO_MEMORY, "memory: %ld sequence%s of %ld tokens", n, PLURAL(n),
                         d->capacity);
    return tokens_new(&d->source, n, source_rows, e) && tokens_new(&d->target, n, n * window, e) &&
           kv_cache_new(&d->cache, c, &d->model->parameters, n, window, source_rows, e);
}

static void check_given(const Model *m, long sequences, const Given *given, long max_new) {
    WANT(m);
    WANT(given);
    if (given->prompt_tokens) WANT(given->prompt);
    if (given->sources) WANT(given->start);
    bool is_lm = config_is_lm(&m->config);
    if (given->prompt_tokens < 1)
        error_bug("decode: a prompt of %ld tokens, want at least 1", given->prompt_tokens);
    if (sequences < 0 || max_new < 0)
        error_bug("decode: %ld sequences of %ld new tokens, want at least 0", sequences, max_new);
    if (is_lm && given->sources) error_bug("decode: sources, want none for a language model");
    if (!is_lm && sequences && given->sources < 1)
        error_bug("decode: no source, want one for a sequence-to-sequence model");
}

bool decoder_open(Decoder *d, Tape *t, Model *m, long sequences, const Given *given, long max_new,
                  Error *e) {
    check_given(m, sequences, given, max_new);
    WANT(d);
    WANT(t);
    long n = given->prompt_tokens, context = m->config.max_length;
    *d = (Decoder){.tape = t,
                   .model = m,
                   .sequences = sequences,
                   .length = n,
                   .next = given->next,
                   .is_lm = config_is_lm(&m->config),
                   .no_grad = t->no_grad,
                   .training = t->training};
    t->no_grad = true;
    t->training = false;
    d->capacity = n + (d->is_lm ? max_new : smaller(max_new, context));
    d->identical = sequences > 1 && given->sources <= 1;
    if (!take_memory(d, given, e)) return false;
    if (!d->is_lm) tokens_pack(&d->source, given->sources, given->start, given->source);
    /* The first sequence alone has the one source until spread() gives it to the others. */
    for (long i = given->sources; i < sequences; i++) {
        d->source.start[i] = 0;
        d->source.rows[i] = 0;
    }
    d->source.sequences.count = sequences;
    for (long i = 0; i < sequences; i++) {
        memcpy(decoder_ids(d, i), given->prompt, (size_t)n * sizeof *d->ids);
        d->tokens[i] = n;
    }
    return true;
}

void decoder_close(Decoder *d) {
    tape_reset(d->tape);
    d->tape->no_grad = d->no_grad;
    d->tape->training = d->training;
    tokens_free(&d->source);
    tokens_free(&d->target);
    kv_cache_free(&d->cache);
    free(d->tokens);
    free(d->ended);
    free(d->ids);
    free(d->other);
    free(d->window);
    free(d->probability);
}

static bool is_computed(const Decoder *d, long sequence) {
    return !d->ended[sequence] && (sequence == 0 || !d->identical);
}

/* Gathers the tokens from `first` on of the sequences that this pass computes. */
static void read_window(Decoder *d, long first) {
    long n = d->length - first;
    for (long i = 0; i < d->sequences; i++)
        for (long j = 0; j < n; j++)
            d->window[i * n + j] = is_computed(d, i) ? decoder_ids(d, i)[first + j] : NO_PAD;
}

/* Gives the keys and the source of the first sequence to all. */
static void spread(Decoder *d) {
    long *from = d->tokens; /* scratch memory: every sequence has d->length tokens */
    for (long i = 0; i < d->sequences; i++) from[i] = 0;
    kv_cache_reorder(&d->cache, from);
    for (long i = 0; i < d->sequences; i++) {
        from[i] = d->length;
        if (d->is_lm) continue;
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

/* The scores after the newest token of a sequence. */
static real *scores_of(const Decoder *d, long sequence) {
    long i = d->identical ? 0 : sequence;
    long row = d->target.start[i] + d->target.rows[i] - 1;
    return d->scores + (row - d->scores_from) * d->model->config.vocab_size;
}

static void hide_tokens(Decoder *d) {
    for (long i = 0; i < d->sequences; i++)
        if (is_computed(d, i))
            next_tokens_hide(&d->next, decoder_ids(d, i), d->length, d->model->config.vocab_size,
                             scores_of(d, i));
}

/* Hidden states of the tokens that the cache lacks: of the newest, or of the whole window. */
static Tensor *compute_hidden(Decoder *d, Forward *f) {
    bool is_cached = d->is_cached;
    if (is_cached) {
        read_window(d, d->length - 1);
        tokens_next(&d->target, d->sequences, d->window, d->length - 1 - d->first);
    } else {
        read_window(d, d->first);
        kv_cache_clear(&d->cache);
        tokens_fill(&d->target, d->sequences, d->length - d->first, d->window, NO_PAD);
    }
    return is_cached && !d->is_lm ? nn_decoder(f) : nn_hidden(f);
}

bool decoder_next(Decoder *d, Error *e) {
    Forward f = {d->tape, d->model, &d->source, &d->target, &d->cache};
    long first = d->is_lm ? decode_window_start(d->length, d->model->config.max_length) : 0, i = 0;
    tape_reset(d->tape);
    if (first != d->first) d->is_cached = false;
    d->first = first;
    Tensor *hidden = compute_hidden(d, &f);
    const Sequences *s = &d->target.sequences;
    while (i < d->sequences - 1 && !s->rows[i]) i++;
    d->scores_from = s->start[i] + s->rows[i] - 1;
    Tensor *logits = nn_logits(&f, tape_slice(d->tape, hidden, 0, d->scores_from, s->total_rows));
    if (tape_failed(d->tape, e)) return false;
    d->scores = logits->data;
    if (d->identical) spread(d);
    d->is_cached = true;
    if (!check_scores(d->scores, shape_count(logits->shape), e)) return false;
    hide_tokens(d);
    return true;
}

Scores decoder_scores(const Decoder *d, long sequence) {
    return (Scores){d->model->config.vocab_size, scores_of(d, sequence), decoder_ids(d, sequence),
                    d->length};
}

void decoder_reorder(Decoder *d, const long *from) {
    int32_t *ids = d->ids;
    d->ids = d->other;
    d->other = ids;
    for (long i = 0; i < d->sequences; i++) {
        d->ended[i] = from[i] < 0;
        if (d->ended[i]) continue;
        memcpy(decoder_ids(d, i), ids + from[i] * d->capacity, (size_t)d->length * sizeof *ids);
    }
    kv_cache_reorder(&d->cache, from);
}

void decoder_advance(Decoder *d) {
    d->length++;
    d->identical = false;
}

/* Chooses the next token of a sequence. A text that begins like others draws as it would alone. */
static int32_t choose(Decoder *d, const Sampler *s, bool alone, long sequence) {
    Sampler own = *s;
    Scores scores = decoder_scores(d, sequence);
    if (alone) own.seed += (uint64_t)sequence;
    return (int32_t)decode_choose(&own, &scores, alone ? 0 : (uint64_t)sequence, d->probability);
}

bool decoder_run(Decoder *d, const Sampler *s, TokenListener *chosen, void *context, Error *e) {
    bool alone = d->identical;
    long growing = d->sequences;
    while (growing && d->length < d->capacity) {
        if (!decoder_next(d, e)) return false;
        growing = 0;
        for (long i = 0; i < d->sequences; i++) {
            if (d->ended[i]) continue;
            int32_t id = choose(d, s, alone, i);
            d->ended[i] = id == d->next.end_id;
            if (!d->ended[i]) decoder_ids(d, i)[d->tokens[i]++] = id;
            if (chosen && !chosen(context, i, id)) d->ended[i] = true;
            growing += !d->ended[i];
        }
        decoder_advance(d);
    }
    return true;
}

bool decode_answers(Tape *t, Model *m, const Sampler *s, long count, const long *start,
                    const int32_t *source, int32_t begin_id, int32_t end_id, long max_tokens,
                    int32_t *out, long *length, Error *e) {
    WANT(m);
    WANT(s);
    if (count) WANT(out);
    if (count) WANT(length);
    Decoder d;
    NextTokens next = {s->tokenizer, begin_id, end_id, m->config.pad_id};
    Given given = {&begin_id, 1, start ? count : 0, start, source, next};
    bool ok =
        decoder_open(&d, t, m, count, &given, max_tokens, e) && decoder_run(&d, s, NULL, NULL, e);
    if (!ok) count = 0;
    for (long i = 0; i < count; i++) {
        length[i] = d.tokens[i] - 1;
        memcpy(out + i * max_tokens, decoder_ids(&d, i) + 1, (size_t)length[i] * sizeof *out);
    }
    decoder_close(&d);
    return ok;
}

bool decode_continue(Tape *t, Model *m, const Sampler *s, int32_t *ids, long n, long max_new,
                     TokenListener *chosen, void *context, Error *e) {
    WANT(m);
    WANT(s);
    WANT(ids);
    Decoder d;
    Given given = {.prompt = ids,
                   .prompt_tokens = n,
                   .next = {s->tokenizer, NO_PAD, NO_PAD, m->config.pad_id}};
    bool ok =
        decoder_open(&d, t, m, 1, &given, max_new, e) && decoder_run(&d, s, chosen, context, e);
    if (ok) memcpy(ids + n, decoder_ids(&d, 0) + n, (size_t)(d.tokens[0] - n) * sizeof *ids);
    decoder_close(&d);
    return ok;
}
