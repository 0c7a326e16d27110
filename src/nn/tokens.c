#include "nn/tokens.h"
#include "nn/config.h"
#include <stdlib.h>

bool tokens_new(Tokens *x, long sequences, long rows, Error *e) {
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
    free(x->start);
    *x = (Tokens){0};
}

/* Empties x, for `sequences` sequences. */
static void begin(Tokens *x, long sequences) {
    if (sequences > x->max_sequences)
        error_bug("tokens: %ld sequences, want at most %ld", sequences, x->max_sequences);
    x->sequences = (Sequences){sequences, x->start, x->rows, x->rows, 0, 0};
}

static void add_token(Tokens *x, int32_t id, long at, long column) {
    long row = x->sequences.total_rows++;
    if (row == x->max_rows) error_bug("tokens: more than %ld rows", x->max_rows);
    x->id[row] = id;
    x->at[row] = (int32_t)at;
    x->column[row] = (int32_t)column;
}

/* Ends sequence s, which begins at row `first`. */
static void end_sequence(Tokens *x, long s, long first) {
    long rows = x->sequences.total_rows - first;
    x->start[s] = (int32_t)first;
    x->rows[s] = (int32_t)rows;
    if (rows > x->sequences.longest) x->sequences.longest = rows;
}

void tokens_pack(Tokens *x, long sequences, const long *start, const int32_t *ids) {
    begin(x, sequences);
    for (long s = 0; s < sequences; s++) {
        long first = x->sequences.total_rows, length = start[s + 1] - start[s];
        for (long i = 0; i < length; i++) add_token(x, ids[start[s] + i], i, start[s] + i);
        end_sequence(x, s, first);
    }
}

void tokens_fill(Tokens *x, long sequences, long longest, const int32_t *ids, int pad_id) {
    begin(x, sequences);
    for (long s = 0; s < sequences; s++) {
        long first = x->sequences.total_rows;
        for (long i = 0; i < longest; i++)
            if (ids[s * longest + i] != pad_id) add_token(x, ids[s * longest + i], i, s * longest + i);
        end_sequence(x, s, first);
    }
}

void tokens_next(Tokens *x, long sequences, const int32_t *ids, long position) {
    begin(x, sequences);
    for (long s = 0; s < sequences; s++) {
        long first = x->sequences.total_rows;
        if (ids[s] != NO_PAD) add_token(x, ids[s], position, s);
        end_sequence(x, s, first);
    }
}

Tokens tokens_without_ids(long sequences, long longest) {
    return (Tokens){.sequences = {.count = sequences, .total_rows = sequences * longest, .longest = longest}};
}

void tokens_gather(const Tokens *x, const int32_t *values, int32_t *out) {
    for (long i = 0; i < x->sequences.total_rows; i++) out[i] = values[x->column[i]];
}

long tokens_last_position(const Tokens *x) {
    long last = -1;
    for (long i = 0; x->at && i < x->sequences.total_rows; i++) last = x->at[i] > last ? x->at[i] : last;
    return last;
}
