/* A batch: rows of token ids, packed one after another. Row r has the ids from source_start[r] to
 * before source_start[r + 1] of
 *
 *     source      input of the encoder; a language model has none
 *
 * and the ids from target_start[r] to before target_start[r + 1] of
 *
 *     target_in   input of the decoder:    begin y₁ y₂ … yₙ
 *     target_out  its targets:             y₁ y₂ … yₙ end
 *
 * Memory is allocated once, for the largest batch. */
#pragma once

#include "base/error.h"
#include <stdint.h>

typedef struct Batch {
    long rows;
    long *source_start, *target_start; /* [rows + 1] */
    int32_t *source;                   /* [source_start[rows]] */
    int32_t *target_in, *target_out;   /* [target_start[rows]] */

    long max_rows, max_S, max_T; /* capacity */
} Batch;

/* A row in its batch: S source tokens, and T tokens of each target. */
typedef struct BatchRow {
    int32_t *source, *target_in, *target_out;
    long S, T;
} BatchRow;

/* Returns an empty batch for max_rows rows of max_S source and max_T target tokens. The caller
 * frees it with batch_free. NULL: STATUS_NO_MEMORY. */
Batch *batch_new(long max_rows, long max_S, long max_T, Error *e);
void batch_free(Batch *b);

/* Removes all rows. */
void batch_clear(Batch *b);

/* Adds a row of S source and T target tokens, which the caller writes. Exceeding the capacity is a
 * bug. */
BatchRow batch_add(Batch *b, long S, long T);

/* Row r. */
BatchRow batch_row(const Batch *b, long r);

/* Teacher forcing: writes target_in = begin, answer and target_out = answer, end. The answer has T
 * - 1 tokens and may be in target_out already. */
void batch_teach(BatchRow row, int32_t begin, const int32_t *answer, int32_t end);

/* Returns the number of target tokens of all rows. */
long batch_target_tokens(const Batch *b);
