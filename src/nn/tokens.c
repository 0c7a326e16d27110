#include "nn/tokens.h"
#include "nn/config.h"
#include <stdlib.h>

bool tokens_new(Tokens *x, long sequences, long rows, Error *e) {
    size_t numbers = 3 * (size_t)sequences + 3 * (size_t)rows;
    int32_t *memory = calloc(numbers ? numbers : 1, sizeof *memory);
    if (!memory) return error_set(e, STATUS_NO_MEMORY, "memory: a batch of %ld tokens", rows);
    *x = (Tokens){.start = memory, .max_sequences = sequences, .max_rows = rows};
    x->rows = x->start + sequences;
    x->length = x->rows + sequences;
    x->id = x->length + sequences;
    x->at = x->id + rows;
    x->column = x->at + rows;
    return true;
}

void tokens_free(Tokens *x) {
    free(x->start);
    *x = (Tokens){0};
}

void tokens_fill(Tokens *x, TokenLayout layout, long sequences, long longest, const int32_t *ids,
                 int pad_id) {
    if (sequences > x->max_sequences)
        error_bug("tokens: %ld sequences, want at most %ld", sequences, x->max_sequences);
    long row = 0, most = 0;
    for (long s = 0; s < sequences; s++) {
        long first = row, real_tokens = 0;
        for (long i = 0; i < longest; i++) {
            bool pad = ids[s * longest + i] == pad_id && pad_id != NO_PAD;
            if (pad && layout == TOKENS_PACKED) continue;
            if (!pad && real_tokens < row - first)
                error_bug("tokens: padding before a token, want it at the end");
            if (row == x->max_rows) error_bug("tokens: more than %ld rows", x->max_rows);
            x->id[row] = ids[s * longest + i];
            x->at[row] = (int32_t)i;
            x->column[row] = (int32_t)(s * longest + i);
            row++;
            real_tokens += !pad;
        }
        x->start[s] = (int32_t)first;
        x->rows[s] = (int32_t)(row - first);
        x->length[s] = (int32_t)real_tokens;
        if (row - first > most) most = row - first;
    }
    x->sequences = (Sequences){sequences, x->start, x->rows, x->length, row, most};
}

void tokens_next(Tokens *x, long sequences, const int32_t *ids, long position) {
    if (sequences > x->max_sequences || sequences > x->max_rows)
        error_bug("tokens: %ld sequences, want at most %ld", sequences, x->max_sequences);
    long row = 0;
    for (long s = 0; s < sequences; s++) {
        x->start[s] = (int32_t)row;
        x->rows[s] = x->length[s] = ids[s] != NO_PAD;
        if (ids[s] == NO_PAD) continue;
        x->id[row] = ids[s];
        x->at[row] = (int32_t)position;
        x->column[row] = (int32_t)s;
        row++;
    }
    x->sequences = (Sequences){sequences, x->start, x->rows, x->length, row, row > 0};
}

Tokens tokens_outline(long sequences, long longest) {
    return (Tokens){.sequences = {.count = sequences, .total_rows = sequences * longest, .longest = longest}};
}

void tokens_gather(const Tokens *x, const int32_t *values, int32_t *out) {
    for (long i = 0; i < x->sequences.total_rows; i++) out[i] = values[x->column[i]];
}
