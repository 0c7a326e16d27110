/* Sequence to sequence decoding, many sources at once. */
#include "decoding/decode.h"
#include <stdlib.h>
#include <string.h>

/* The memory of a decoding; all of it lies behind `ids`. */
typedef struct Answers {
    Tokens source, target;
    long room;       /* of an answer: what the caller wants at most, and the model has positions for */
    int32_t *prefix; /* [count, room + 1] begin and the answer so far, padded */
    bool *ended;     /* [count] */
} Answers;

static void answers_free(Answers *a) {
    tokens_free(&a->source);
    tokens_free(&a->target);
    free(a->prefix);
    free(a->ended);
}

static bool answers_new(Answers *a, long count, long S, long room, Error *e) {
    *a = (Answers){.room = room,
                   .prefix = calloc((size_t)count + 1, (size_t)(room + 1) * sizeof(int32_t)),
                   .ended = calloc((size_t)count + 1, sizeof(bool))};
    if (!a->prefix || !a->ended)
        return fail(e, STATUS_NO_MEMORY, "memory: %ld answers of %ld tokens", count, room);
    return tokens_new(&a->source, count, count * S, e) &&
           tokens_new(&a->target, count, count * (room + 1), e);
}

/* Extends every unfinished answer by one token; position is how many each has. Returns how many are
 * unfinished. */
static long extend(Answers *a, Model *m, const Sampler *s, Tensor *logits, long count, long most,
                   long position, int32_t end_id, int32_t *out, long *length) {
    long V = m->config.vocab_size, unfinished = 0;
    for (long i = 0; i < count; i++) {
        if (a->ended[i]) continue;
        long last = a->target.sequences.start[i] + a->target.sequences.length[i] - 1;
        int32_t id = (int32_t)decode_choose(s, logits->data + last * V, V, (uint64_t)i, (uint64_t)position);
        a->ended[i] = id == end_id || id == m->config.pad_id;
        if (a->ended[i]) continue;
        out[i * most + position] = id;
        length[i] = position + 1;
        a->prefix[i * (a->room + 1) + position + 1] = id;
        unfinished++;
    }
    return unfinished;
}

bool decode_answers(Tape *t, Model *m, const Sampler *s, long count, long S, const int32_t *source,
                    int32_t begin_id, int32_t end_id, long most, int32_t *out, long *length, Error *e) {
    Answers a;
    long room = most < m->config.max_length ? most : m->config.max_length;
    bool ok = answers_new(&a, count, S, room, e);
    for (long i = 0; ok && i < count; i++) {
        for (long j = 0; j <= room; j++) a.prefix[i * (room + 1) + j] = j ? m->config.pad_id : begin_id;
        length[i] = 0;
    }
    bool no_grad = t->no_grad;
    t->no_grad = true;
    t->training = false;
    if (ok) tokens_fill(&a.source, TOKENS_PACKED, count, S, source, m->config.pad_id);
    for (long position = 0, unfinished = count; ok && unfinished && position < room; position++) {
        tokens_fill(&a.target, TOKENS_PACKED, count, room + 1, a.prefix, m->config.pad_id);
        Tensor *logits = nn_logits(t, m, nn_transformer(t, m, &a.source, &a.target));
        ok = !tape_failed(t, e);
        if (ok) unfinished = extend(&a, m, s, logits, count, most, position, end_id, out, length);
        tape_reset(t);
    }
    t->no_grad = no_grad;
    answers_free(&a);
    return ok;
}
