/* Padded rows of token ids, laid out anew every step in memory taken once. */
#include "tasks/batch.h"
#include "autograd/tensor.h"
#include <stdlib.h>
#include <string.h>

/* rows × columns elements, or NULL where they are not to be had. */
static void *take(long rows, long columns, size_t element_size) {
    long count;
    if (!shape_fits(2, (long[]){rows, columns}, element_size, &count)) return NULL;
    return malloc((size_t)count * element_size + 1);
}

Batch *batch_new(long max_rows, long max_S, long max_T, Error *e) {
    Batch *b = calloc(1, sizeof *b);
    if (b) {
        *b = (Batch){.max_rows = max_rows, .max_S = max_S, .max_T = max_T};
        b->source = take(max_rows, max_S, sizeof *b->source);
        b->target_in = take(max_rows, max_T, sizeof *b->target_in);
        b->target_out = take(max_rows, max_T, sizeof *b->target_out);
        b->source_length = take(max_rows, 1, sizeof *b->source_length);
        b->target_length = take(max_rows, 1, sizeof *b->target_length);
        if (b->source && b->target_in && b->target_out && b->source_length && b->target_length) return b;
    }
    error_set(e, STATUS_NO_MEMORY, "no memory for a batch of %ld rows of %ld + %ld tokens", max_rows, max_S,
              max_T);
    batch_free(b);
    return NULL;
}

void batch_free(Batch *b) {
    if (!b) return;
    free(b->source);
    free(b->target_in);
    free(b->target_out);
    free(b->source_length);
    free(b->target_length);
    free(b);
}

static void fill(int32_t *ids, long count, int32_t id) {
    for (long i = 0; i < count; i++) ids[i] = id;
}

void batch_shape(Batch *b, long rows, long S, long T, int32_t pad_id) {
    if (rows > b->max_rows || S > b->max_S || T > b->max_T)
        error_bug("batch_shape: rows, S, T are %ld, %ld, %ld, want at most %ld, %ld, %ld", rows, S, T,
                  b->max_rows, b->max_S, b->max_T);
    b->rows = rows, b->S = S, b->T = T, b->pad_id = pad_id;
    fill(b->source, rows * S, pad_id);
    fill(b->target_in, rows * T, pad_id);
    fill(b->target_out, rows * T, pad_id);
    for (long r = 0; r < rows; r++) b->source_length[r] = b->target_length[r] = 0;
}

void batch_teach(Batch *b, long r, int32_t begin, const int32_t *answer, long n, int32_t end) {
    if (r >= b->rows || n >= b->T)
        error_bug("batch_teach: row %ld of %ld, answer of %ld tokens, want at most %ld", r, b->rows, n,
                  b->T - 1);
    int32_t *in = b->target_in + r * b->T, *out = b->target_out + r * b->T;
    in[0] = begin;
    memcpy(in + 1, answer, (size_t)n * sizeof *in);
    memmove(out, answer, (size_t)n * sizeof *out);
    out[n] = end;
    b->target_length[r] = n + 1;
}

long batch_target_tokens(const Batch *b) {
    long tokens = 0;
    for (long r = 0; r < b->rows; r++) tokens += b->target_length[r];
    return tokens;
}
