/* Sequence-to-sequence decoding of a batch: the encoder reads all sources; then each pass of the decoder
 * appends one token to every answer. The cache holds the keys and values of answers and sources. */
#include "decoding/decode.h"
#include <stdlib.h>

typedef struct Answers {
    Tokens source, target;
    KvCache cache;
    long room;     /* tokens of an answer, at most: the caller's limit and the model's */
    int32_t *last; /* [count] newest token of each answer, at first begin_id; NO_PAD once it has ended */
} Answers;

static void answers_free(Answers *a) {
    tokens_free(&a->source);
    tokens_free(&a->target);
    kv_cache_free(&a->cache);
    free(a->last);
}

static bool answers_new(Answers *a, const ModelConfig *c, long count, long tokens, long room, Error *e) {
    *a = (Answers){.room = room, .last = calloc((size_t)count + 1, sizeof *a->last)};
    if (!a->last) return error_set(e, STATUS_NO_MEMORY, "memory: %ld answers", count);
    bool ok = tokens_new(&a->source, count, tokens, e) && tokens_new(&a->target, count, count, e) &&
              kv_cache_new(&a->cache, c, count, room, tokens, e);
    return ok;
}

/* Appends a token to every unfinished answer; all have `position` tokens. Returns the number of unfinished
 * answers. */
static long extend(Answers *a, const Model *m, const Sampler *s, const Tensor *logits, long count, long most,
                   long position, int32_t end_id, int32_t *out, long *length) {
    long V = m->config.vocab_size, unfinished = 0;
    for (long i = 0; i < count; i++) {
        if (a->last[i] == NO_PAD) continue;
        const real *scores = logits->data + a->target.sequences.start[i] * V;
        int32_t id = (int32_t)decode_choose(s, scores, V, (uint64_t)i, (uint64_t)position);
        bool ends = id == end_id || id == m->config.pad_id;
        a->last[i] = ends ? NO_PAD : id;
        if (ends) continue;
        out[i * most + position] = id;
        length[i] = position + 1;
        unfinished++;
    }
    return unfinished;
}

bool decode_answers(Tape *t, Model *m, const Sampler *s, long count, const long *start, const int32_t *source,
                    int32_t begin_id, int32_t end_id, long most, int32_t *out, long *length, Error *e) {
    Answers a;
    long room = most < m->config.max_length ? most : m->config.max_length;
    bool ok = answers_new(&a, &m->config, count, start[count] - start[0], room, e);
    for (long i = 0; ok && i < count; i++) a.last[i] = begin_id, length[i] = 0;
    bool no_grad = t->no_grad, training = t->training;
    t->no_grad = true;
    t->training = false;
    if (ok) tokens_pack(&a.source, count, start, source);
    for (long position = 0, unfinished = count; ok && unfinished && position < room; position++) {
        tokens_next(&a.target, count, a.last, position);
        Forward f = {t, m, &a.source, &a.target, &a.cache};
        Tensor *logits = nn_logits(&f, position == 0 ? nn_transformer(&f) : nn_decoder(&f));
        ok = !tape_failed(t, e) && decode_check_scores(logits->data, shape_count(logits->shape), e);
        if (ok) unfinished = extend(&a, m, s, logits, count, most, position, end_id, out, length);
        tape_reset(t);
    }
    t->no_grad = no_grad;
    t->training = training;
    answers_free(&a);
    return ok;
}
