/* Decoding: a trained model, fed its own output, one token at a time. */
#ifndef DECODING_DECODE_H
#define DECODING_DECODE_H

#include "nn/nn.h"

/* How the next token is chosen from the model's scores. A draw depends on (seed, sequence, position) alone.
 */
typedef struct Sampler {
    double temperature; /* scores are divided by it before the softmax; 0: the likeliest token, greedy */
    long top_k;         /* only among the k likeliest; 0: among all */
    uint64_t seed;
    /* How many tokens the window moves on each time that a text has outgrown the model's context, at most the
     * context; 0: one. With one, each token sees as much as it can, for the price of the whole window. */
    long slide;
} Sampler;

/* The id chosen from `count` scores for this position of this sequence. */
long decode_choose(const Sampler *s, const real *scores, long count, uint64_t sequence, uint64_t position);

/* False with STATUS_BAD_DATA if one of `count` scores is infinite or not a number: there is nothing to choose by. */
bool decode_check_scores(const real *scores, long count, Error *e);

/* Sequence to sequence: the answers to `count` sources, one behind another: source i is source[start[i]] …
 * source[start[i + 1] - 1]. Row i of out, [count, most], gets the tokens up to end_id, which is not among them, and
 * length[i] their number; a row that does not end is cut at `most`. */
bool decode_answers(Tape *t, Model *m, const Sampler *s, long count, const long *start, const int32_t *source,
                    int32_t begin_id, int32_t end_id, long most, int32_t *out, long *length, Error *e);

/* Language model: writes into ids[n …] the `more` tokens that follow the prompt ids[0 … n), n >= 1. The model
 * sees the last max_length tokens, or with s->slide fewer. Each is handed to `emit`, if not NULL, as soon as it is
 * known; false from it ends decoding. */
bool decode_continue(Tape *t, Model *m, const Sampler *s, int32_t *ids, long n, long more,
                     bool (*emit)(void *context, int32_t id), void *context, Error *e);

#endif
