#include "decoding/decoder.h"
#include <stdlib.h>
#include <string.h>

static long smaller(long a, long b) {
    return a < b ? a : b;
}

static bool is_lm(const Decoder *d) {
    return d->model->config.kind == KIND_LM;
}

static bool is_rotary(const Decoder *d) {
    return d->model->config.positions == POSITIONS_ROTARY;
}

static bool take_memory(Decoder *d, const Given *given, Error *e) {
    const ModelConfig *c = &d->model->config;
    long n = d->sequences, sources = given->sources ? given->start[given->sources] - given->start[0] : 0;
    long window = is_lm(d) ? smaller(d->room, c->max_length) : 1;
    size_t all = (size_t)(n * d->room) + 1;
    d->tokens = calloc((size_t)n + 1, sizeof *d->tokens);
    d->ended = calloc((size_t)n + 1, sizeof *d->ended);
    d->ids = calloc(all, sizeof *d->ids), d->other = calloc(all, sizeof *d->other);
    d->window = calloc((size_t)(n * window) + 1, sizeof *d->window);
    d->probability = calloc(2 * (size_t)c->vocab_size, sizeof *d->probability);
    if (!d->tokens || !d->ended || !d->ids || !d->other || !d->window || !d->probability)
        return error_set(e, STATUS_NO_MEMORY, "memory: %ld sequences of %ld tokens", n, d->room);
    return tokens_new(&d->source, n, sources, e) && tokens_new(&d->target, n, n * window, e) &&
           kv_cache_new(&d->cache, d->model, n, is_lm(d) && !is_rotary(d) ? window : d->room, sources, e);
}

/* The one source belongs to the first sequence until the others have something to read it with. */
static void pack_source(Decoder *d, const Given *given) {
    if (!given->sources) return;
    tokens_pack(&d->source, given->sources, given->start, given->source);
    for (long i = given->sources; i < d->sequences; i++) d->source.start[i] = d->source.rows[i] = 0;
    d->source.sequences.count = d->sequences;
}

bool decoder_open(Decoder *d, Tape *t, Model *m, long sequences, const Given *given, long more, Error *e) {
    long n = given->prompt_tokens, context = m->config.max_length;
    *d = (Decoder){.tape = t, .model = m, .sequences = sequences, .length = n, .slide = 1};
    d->no_grad = t->no_grad, d->training = t->training;
    t->no_grad = true, t->training = false;
    d->room = n + (is_lm(d) ? more : smaller(more, context));
    d->same = sequences > 1 && given->sources <= 1;
    if (given->slide > 0) d->slide = smaller(given->slide, context);
    if (is_lm(d) && n > context) d->first = n - context;
    if (!take_memory(d, given, e)) return false;
    pack_source(d, given);
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
        if (is_lm(d)) continue;
        d->source.start[i] = d->source.start[0];
        d->source.rows[i] = d->source.rows[0];
    }
}

bool decoder_next(Decoder *d, Error *e) {
    const ModelConfig *c = &d->model->config;
    tape_reset(d->tape);
    if (is_lm(d) && !is_rotary(d) && d->length - d->first > c->max_length)
        d->first += d->slide, d->known = false;
    read_window(d, d->known ? d->length - 1 : d->first);
    Forward f = {d->tape, d->model, &d->source, &d->target, &d->cache};
    if (d->known) {
        tokens_next(&d->target, d->sequences, d->window, d->length - 1 - d->first);
    } else {
        kv_cache_clear(&d->cache);
        tokens_fill(&d->target, d->sequences, d->length - d->first, d->window, NO_PAD);
    }
    const Sequences *s = &d->target.sequences;
    Tensor *hidden = is_lm(d) || !d->known ? nn_hidden(&f) : nn_decoder(&f);
    long i = 0;
    while (i < d->sequences - 1 && !s->rows[i]) i++;
    d->scores_from = s->start[i] + s->rows[i] - 1;
    Tensor *logits = nn_logits(&f, tape_slice(d->tape, hidden, 0, d->scores_from, s->total_rows));
    if (tape_failed(d->tape, e)) return false;
    d->scores = logits->data;
    if (d->same) spread(d);
    d->known = true;
    return decode_check_scores(d->scores, shape_count(logits->shape), e);
}

Choice decoder_choice(const Decoder *d, long sequence) {
    long i = d->same ? 0 : sequence, V = d->model->config.vocab_size;
    long row = d->target.start[i] + d->target.rows[i] - 1 - d->scores_from;
    return (Choice){V, d->scores + row * V, decoder_ids(d, sequence), d->length};
}

void decoder_append(Decoder *d, long sequence, int32_t id) {
    decoder_ids(d, sequence)[d->length] = id;
    d->tokens[sequence] = d->length + 1;
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

bool decoder_run(Decoder *d, const Sampler *s, int32_t end_id,
                 bool (*chosen)(void *context, long sequence, int32_t id), void *context, Error *e) {
    bool alone = d->same;
    for (long live = d->sequences; live && d->length < d->room;) {
        if (!decoder_next(d, e)) return false;
        live = 0;
        for (long i = 0; i < d->sequences; i++) {
            if (d->ended[i]) continue;
            Sampler own = *s;
            Choice choice = decoder_choice(d, i);
            if (alone) own.seed += (uint64_t)i;
            int32_t id = (int32_t)decode_choose(&own, &choice, alone ? 0 : (uint64_t)i, d->probability);
            d->ended[i] = id == end_id || id == d->model->config.pad_id;
            if (!d->ended[i]) decoder_append(d, i, id);
            if (chosen && !chosen(context, i, id)) d->ended[i] = true;
            live += !d->ended[i];
        }
        d->length++, d->same = false;
    }
    return true;
}
