/* Decoding: a trained model reads its own output, one token at a time. */
#ifndef DECODING_DECODE_H
#define DECODING_DECODE_H

#include "decoding/sampler.h"
#include "nn/nn.h"

/* Sequence to sequence: answers `count` sources, which stand one after another: source i is source[start[i]]
 * … source[start[i + 1] - 1]. Row i of out, [count, most], gets the tokens before end_id, and length[i] their
 * number. An answer that does not end is cut off at `most` tokens. Source i draws with s->seed and sequence i. */
bool decode_answers(Tape *t, Model *m, const Sampler *s, long count, const long *start, const int32_t *source,
                    int32_t begin_id, int32_t end_id, long most, int32_t *out, long *length, Error *e);

/* Language model: writes `more` tokens after the prompt ids[0 … n), n >= 1, into ids[n …]. The model sees the
 * last max_length tokens, or with s->slide fewer. Calls `emit`, if not NULL, with each token as soon as it is
 * known, of sequence 0; decoding ends if it returns false. */
bool decode_continue(Tape *t, Model *m, const Sampler *s, int32_t *ids, long n, long more,
                     bool (*emit)(void *context, long sequence, int32_t id), void *context, Error *e);

#endif
