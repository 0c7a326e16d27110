/* A batch of token sequences as a model reads it: ids and positions, one row per token, and the
 * start of each sequence.
 *
 * The sequences stand one after another. Padding has no row: it is neither embedded nor
 * computed. */
#pragma once

#include "base/error.h"
#include "ops/sequences.h"
#include <stdbool.h>

typedef struct Tokens {
    Sequences sequences;
    int32_t *id, *at; /* [total_rows] token, and its position in its sequence */
    int32_t *column;  /* [total_rows] index in the ids that the batch was filled from */
    int32_t *start, *rows;
    long max_sequences, max_rows;
} Tokens;

/* Allocates memory for `sequences` sequences with `rows` rows in total. The caller frees it with
 * tokens_free. */
bool tokens_new(Tokens *x, long sequences, long rows, Error *e);
void tokens_free(Tokens *x);

/* Fills x with adjacent sequences: sequence s is ids[start[s]] … ids[start[s + 1] - 1]. */
void tokens_pack(Tokens *x, long sequences, const long *start, const int32_t *ids);

/* Fills x from ids, [sequences, longest], and leaves out those that are pad_id (NO_PAD: none). */
void tokens_fill(Tokens *x, long sequences, long longest, const int32_t *ids, int pad_id);

/* Fills x with one token of each sequence, all at the same position. A sequence whose id is NO_PAD
 * has ended and gets no row. */
void tokens_next(Tokens *x, long sequences, const int32_t *ids, long position);

/* Sets out[row] to the value of that row's token. `values` is [sequences, longest], like the ids of
 * tokens_fill. */
void tokens_gather(const Tokens *x, const int32_t *values, int32_t *out);

/* Returns the maximum position of all rows; -1: there are no rows. */
long tokens_last_position(const Tokens *x);
