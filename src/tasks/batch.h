/* A batch: what a model consumes in one step, as padded rows of token ids.
 *
 *     source      [B,S]  what the encoder reads; a language model has none, S is 0
 *     target_in   [B,T]  what the decoder reads:        begin y₁ y₂ … yₙ
 *     target_out  [B,T]  what it is to answer with:     y₁ y₂ … yₙ end
 *
 * A row has source_length and target_length tokens, then pad_id up to S and T, which are the longest of the
 * batch. The memory is taken once, for the largest batch, and every step lays its rows out in it. */
#ifndef TASKS_BATCH_H
#define TASKS_BATCH_H

#include "base/error.h"
#include <stdint.h>

typedef struct Batch {
    long rows, S, T;
    int32_t pad_id;
    int32_t *source;                     /* [rows,S] */
    int32_t *target_in, *target_out;     /* [rows,T] */
    long *source_length, *target_length; /* [rows] */

    long max_rows, max_S, max_T; /* what the memory holds */
} Batch;

/* An empty batch with room for max_rows rows of max_S source and max_T target tokens; the caller frees it.
 * NULL: STATUS_NO_MEMORY. */
Batch *batch_new(long max_rows, long max_S, long max_T, Error *e);
void batch_free(Batch *b);

/* Makes b a batch of this shape with nothing but padding in it. Larger than batch_new was told is a bug. */
void batch_shape(Batch *b, long rows, long S, long T, int32_t pad_id);

/* Teacher forcing: writes row r's target_in, begin and then the answer, and its target_out, the answer and
 * then end. The answer, n < T tokens, may stand in the row's target_out already. */
void batch_teach(Batch *b, long r, int32_t begin, const int32_t *answer, long n, int32_t end);

/* Tokens of target that the loss counts: the sum of target_length. */
long batch_target_tokens(const Batch *b);

#endif
