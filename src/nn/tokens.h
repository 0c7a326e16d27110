/* A batch of token sequences as a model reads it: ids and positions, row by row, and where sequences begin.
 *
 * Packed, it holds the real tokens alone; padding is neither embedded nor computed. Padded, every sequence
 * has the same number of rows and the padding is hidden from attention; the results of real tokens are the
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
    int32_t *column;  /* [total_rows] its place in the ids that it came from */
    int32_t *start, *rows, *length;
    long max_sequences, max_rows;
} Tokens;

/* Memory for up to `sequences` sequences of together `rows` rows; owned by the caller, for tokens_free. */
bool tokens_new(Tokens *x, long sequences, long rows, Error *e);
void tokens_free(Tokens *x);

/* Takes over sequences that stand one behind another: sequence s is ids[start[s]] … ids[start[s + 1] - 1]. More than
 * tokens_new made room for is a bug. */
void tokens_pack(Tokens *x, long sequences, const long *start, const int32_t *ids);

/* Takes over [sequences, longest] ids, a sequence's real tokens being those that are not pad_id (NO_PAD:
 * all). In a padded layout, padding has to stand at the end. */
void tokens_fill(Tokens *x, TokenLayout layout, long sequences, long longest, const int32_t *ids, int pad_id);

/* Takes over one token of each sequence, all at the same position; a sequence whose id is NO_PAD is over and has
 * none. */
void tokens_next(Tokens *x, long sequences, const int32_t *ids, long position);

/* The outline of a packed batch whose sequences all have `longest` tokens: for a tape that plans, which reads
 * no token. It needs no memory. */
Tokens tokens_outline(long sequences, long longest);

/* Gathers from [sequences, longest] values those that belong to the rows of x, as filled from ids of the same
 * shape: out[row]. For the targets that stand beside a decoder's input. */
void tokens_gather(const Tokens *x, const int32_t *values, int32_t *out);

#endif
