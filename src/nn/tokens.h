/* A batch of token sequences as a model reads it: ids and positions, one row per token, and the start of
 * each sequence.
 *
 * A packed batch holds real tokens only; padding is neither embedded nor computed. In a padded batch every
 * sequence has the same number of rows, and attention hides the padding. The results of real tokens are the
 * same. */
#ifndef NN_TOKENS_H
#define NN_TOKENS_H

#include "base/error.h"
#include "ops/sequences.h"
#include <stdbool.h>

typedef enum TokenLayout { TOKENS_PACKED, TOKENS_PADDED } TokenLayout;

typedef struct Tokens {
    Sequences sequences;
    int32_t *id, *at; /* [total_rows] token, and its position in its sequence */
    int32_t *column;  /* [total_rows] index in the ids that the batch was filled from */
    int32_t *start, *rows, *length;
    long max_sequences, max_rows;
} Tokens;

/* Allocates room for `sequences` sequences of `rows` rows in all; owned by the caller, for tokens_free. */
bool tokens_new(Tokens *x, long sequences, long rows, Error *e);
void tokens_free(Tokens *x);

/* Fills x with adjacent sequences: sequence s is ids[start[s]] … ids[start[s + 1] - 1]. */
void tokens_pack(Tokens *x, long sequences, const long *start, const int32_t *ids);

/* Fills x from [sequences, longest] ids. The real tokens are those that are not pad_id (NO_PAD: all). In a
 * padded layout, padding stands at the end. */
void tokens_fill(Tokens *x, TokenLayout layout, long sequences, long longest, const int32_t *ids, int pad_id);

/* Fills x with one token of each sequence, all at the same position. A sequence whose id is NO_PAD has ended
 * and gets no row. */
void tokens_next(Tokens *x, long sequences, const int32_t *ids, long position);

/* The sizes of a packed batch of equally long sequences, without ids, for a tape that plans. Allocates
 * nothing. */
Tokens tokens_without_ids(long sequences, long longest);

/* out[row] = the value of that row's token; values is [sequences, longest], as the ids of tokens_fill. */
void tokens_gather(const Tokens *x, const int32_t *values, int32_t *out);

/* The greatest position of any row; -1: there is none, or x is an outline. */
long tokens_last_position(const Tokens *x);

#endif
