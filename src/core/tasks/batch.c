/* Packed rows of token ids in memory that is allocated once. */
#include "tasks/batch.h"
#include "base/shape.h"
#include <stdlib.h>
#include <string.h>

/* One allocation: the batch, the starts of its rows, its ids. */
Batch *batch_new(long max_rows, long max_S, long max_T, Error *e) {
    if (max_rows < 0 || max_S < 0 || max_T < 0)
        error_bug("batch_new: %ld rows of %ld + %ld tokens, want at least 0", max_rows, max_S,
                  max_T);
    long all, row = 2 * (long)sizeof(long) + (max_S + 2 * max_T) * (long)sizeof(int32_t);
    bool fits = shape_fits(2, (long[]){max_rows + 1, row}, 1, &all);
    Batch *b = fits ? malloc(sizeof *b + (size_t)all) : NULL;
    if (!b) {
        error_set(e, STATUS_NO_MEMORY, "no memory for a batch of %ld rows of %ld + %ld tokens",
                  max_rows, max_S, max_T);
        return NULL;
    }
    *b = (Batch){.max_rows = max_rows, .max_S = max_S, .max_T = max_T};
    b->source_start = (long *)(b + 1);
    b->target_start = b->source_start + max_rows + 1;
    b->source = (int32_t *)(b->target_start + max_rows + 1);
    b->target_in = b->source + max_rows * max_S;
    b->target_out = b->target_in + max_rows * max_T;
    batch_clear(b);
    return b;
}

void batch_free(Batch *b) {
    free(b);
}

void batch_clear(Batch *b) {
    WANT(b);
    b->rows = b->source_start[0] = b->target_start[0] = 0;
}

BatchRow batch_add(Batch *b, long S, long T) {
    WANT(b);
    if (b->rows == b->max_rows || S < 0 || T < 0 || S > b->max_S || T > b->max_T)
        error_bug("batch_add: row %ld of %ld + %ld tokens, want at most %ld rows of %ld + %ld",
                  b->rows, S, T, b->max_rows, b->max_S, b->max_T);
    long r = b->rows++;
    b->source_start[r + 1] = b->source_start[r] + S;
    b->target_start[r + 1] = b->target_start[r] + T;
    return batch_row(b, r);
}

BatchRow batch_row(const Batch *b, long r) {
    WANT(b);
    if (r < 0 || r >= b->rows) error_bug("batch_row: row %ld, want it in [0,%ld)", r, b->rows);
    const long *source = b->source_start + r, *target = b->target_start + r;
    return (BatchRow){b->source + *source, b->target_in + *target, b->target_out + *target,
                      .S = source[1] - source[0], .T = target[1] - target[0]};
}

void batch_teach(BatchRow row, int32_t begin, const int32_t *answer, int32_t end) {
    if (row.T < 1) error_bug("batch_teach: a row of %ld target tokens, want at least 1", row.T);
    WANT(row.target_in);
    WANT(row.target_out);
    if (row.T > 1) WANT(answer);
    size_t bytes = (size_t)(row.T - 1) * sizeof *answer;
    row.target_in[0] = begin;
    memcpy(row.target_in + 1, answer, bytes);
    memmove(row.target_out, answer, bytes);
    row.target_out[row.T - 1] = end;
}

long batch_target_tokens(const Batch *b) {
    WANT(b);
    return b->target_start[b->rows];
}
