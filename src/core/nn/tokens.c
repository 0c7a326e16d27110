#include "nn/tokens.h"
#include "nn/config.h"
#include <stdlib.h>

bool tokens_new(Tokens *x, long sequences, long rows, Error *e) {
    WANT(x);
    if (sequences < 0 || rows < 0)
        error_bug("tokens_new: %ld sequences of %ld rows, want at least 0", sequences, rows);
    size_t numbers = 2 * (size_t)sequences + 3 * (size_t)rows;
    int32_t *memory = calloc(numbers ? numbers : 1, sizeof *memory);
    if (!memory) return error_set(e, STATUS_NO_MEMORY, "memory: a batch of %ld tokens", rows);
    *x = (Tokens){.start = memory, .max_sequences = sequences, .max_rows = rows};
    x->rows = x->start + sequences;
    x->id = x->rows + sequences;
    x->at = x->id + rows;
    x->column = x->at + rows;
    return true;
}

void tokens_free(Tokens *x) {
    WANT(x);
    free(x->start);
    *x = (Tokens){0};
}

/* Fills x with the ids from start[s] to start[s + 1], or `longest` of each sequence, without those
 * that are pad_id. The first stands at `position`. */
static void fill(Tokens *x, long sequences, const long *start, long longest, const int32_t *ids,
                 int pad_id, long position) {
    if (sequences < 0 || sequences > x->max_sequences)
        error_bug("tokens: %ld sequences, want at most %ld", sequences, x->max_sequences);
    long row = 0;
    x->sequences = (Sequences){sequences, x->start, x->rows, x->rows, 0, 0};
    for (long s = 0; s < sequences; s++) {
        long from = start ? start[s] : s * longest, to = start ? start[s + 1] : from + longest;
        if (to < from)
            error_bug("tokens: sequence %ld ends at %ld, before its start %ld", s, to, from);
        if (to > from && !ids) error_bug("tokens: ids is NULL");
        x->start[s] = (int32_t)row;
        for (long i = from; i < to; i++) {
            if (ids[i] == pad_id) continue;
            if (row == x->max_rows) error_bug("tokens: more than %ld rows", x->max_rows);
            x->id[row] = ids[i];
            x->at[row] = (int32_t)(position + i - from);
            x->column[row++] = (int32_t)i;
        }
        x->rows[s] = (int32_t)row - x->start[s];
        if (x->rows[s] > x->sequences.longest) x->sequences.longest = x->rows[s];
    }
    x->sequences.total_rows = row;
}

void tokens_pack(Tokens *x, long sequences, const long *start, const int32_t *ids) {
    WANT(x);
    if (sequences > 0) WANT(start);
    fill(x, sequences, start, 0, ids, NO_PAD, 0);
}

void tokens_fill(Tokens *x, long sequences, long longest, const int32_t *ids, int pad_id) {
    WANT(x);
    fill(x, sequences, NULL, longest, ids, pad_id, 0);
}

void tokens_next(Tokens *x, long sequences, const int32_t *ids, long position) {
    WANT(x);
    fill(x, sequences, NULL, 1, ids, NO_PAD, position);
}

void tokens_gather(const Tokens *x, const int32_t *values, int32_t *out) {
    for (long i = 0; i < x->sequences.total_rows; i++) out[i] = values[x->column[i]];
}

long tokens_last_position(const Tokens *x) {
    long last = -1;
    for (long i = 0; i < x->sequences.total_rows; i++) last = x->at[i] > last ? x->at[i] : last;
    return last;
}
