/* Decoding: a trained model reads its own output, one token at a time. */
#ifndef DECODING_DECODE_H
#define DECODING_DECODE_H

#include "nn/nn.h"

/* How to choose the next token. A draw depends on (seed, sequence, position) only. */
typedef struct Sampler {
    double temperature; /* divides the scores before the softmax; 0: greedy, the likeliest token */
    long top_k;         /* draws from the k likeliest tokens only; 0: from all */
    uint64_t seed;
    /* Tokens by which the window slides when a text exceeds the model's context, at most the context; 0: 1.
     * With 1, each token sees the whole context and costs a pass over it. */
    long slide;
} Sampler;

/* The id chosen from `count` scores for a position of a sequence. */
long decode_choose(const Sampler *s, const real *scores, long count, uint64_t sequence, uint64_t position);

/* False with STATUS_BAD_DATA if one of `count` scores is not finite. */
bool decode_check_scores(const real *scores, long count, Error *e);

/* Sequence to sequence: answers `count` sources, which stand one after another: source i is source[start[i]]
 * … source[start[i + 1] - 1]. Row i of out, [count, most], gets the tokens before end_id, and length[i] their
 * number. An answer that does not end is cut off at `most` tokens. */
bool decode_answers(Tape *t, Model *m, const Sampler *s, long count, const long *start, const int32_t *source,
                    int32_t begin_id, int32_t end_id, long most, int32_t *out, long *length, Error *e);

/* Language model: writes `more` tokens after the prompt ids[0 … n), n >= 1, into ids[n …]. The model sees the
 * last max_length tokens, or with s->slide fewer. Calls `emit`, if not NULL, with each token as soon as it is
 * known; decoding ends if it returns false. */
bool decode_continue(Tape *t, Model *m, const Sampler *s, int32_t *ids, long n, long more,
                     bool (*emit)(void *context, int32_t id), void *context, Error *e);

#endif
