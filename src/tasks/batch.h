/* A batch: the rows of token ids that a model consumes in one step, packed one behind another. Of row r
 *
 *     source      what the encoder reads; a language model has none
 *     target_in   what the decoder reads:        begin y₁ y₂ … yₙ
 *     target_out  what it is to answer with:     y₁ y₂ … yₙ end
 *
 * are the ids from source_start[r] to source_start[r + 1], and from target_start[r] to target_start[r + 1]. The memory
 * is taken once, for the largest batch, and every step lays its rows out in it. */
#ifndef TASKS_BATCH_H
#define TASKS_BATCH_H

#include "base/error.h"
#include <stdint.h>

typedef struct Batch {
    long rows;
    long *source_start, *target_start; /* [rows + 1] */
    int32_t *source;                   /* [source_start[rows]] */
    int32_t *target_in, *target_out;   /* [target_start[rows]] */

    long max_rows, max_S, max_T; /* what the memory holds */
} Batch;

/* A row where it stands in its batch: S tokens of source and T of each target. */
typedef struct BatchRow {
    int32_t *source, *target_in, *target_out;
    long S, T;
} BatchRow;

/* An empty batch with room for max_rows rows of max_S source and max_T target tokens; the caller frees it.
 * NULL: STATUS_NO_MEMORY. */
Batch *batch_new(long max_rows, long max_S, long max_T, Error *e);
void batch_free(Batch *b);

/* Takes all rows out of b. */
void batch_clear(Batch *b);

/* A further row of S source and T target tokens, for the caller to write. More than batch_new was told is a bug. */
BatchRow batch_add(Batch *b, long S, long T);

/* Row r of b. */
BatchRow batch_row(const Batch *b, long r);

/* Teacher forcing: writes the row's target_in, begin and then the answer, and its target_out, the answer and
 * then end. The answer, T - 1 tokens, may stand in target_out already. */
void batch_teach(BatchRow row, int32_t begin, const int32_t *answer, int32_t end);

/* Tokens of target in all rows. */
long batch_target_tokens(const Batch *b);

#endif
