#include "check/grading/batch_file.h"
#include "base/random.h"
#include "formats/safetensors.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Batches ---- */

PaddedBatch *batch_padded(long rows, long S, long T, int32_t pad_id, Error *e) {
    long count = 0;
    bool fits = shape_fits(2, (long[]){rows, S + 2 * T}, sizeof pad_id, &count);
    PaddedBatch *b = fits ? malloc(sizeof *b + (size_t)count * sizeof pad_id) : NULL;
    if (!b) {
        error_set(e, STATUS_NO_MEMORY, "no memory for a batch of %ld rows of %ld + %ld tokens",
                  rows, S, T);
        return NULL;
    }
    int32_t *ids = (int32_t *)(b + 1);
    for (long i = 0; i < count; i++) ids[i] = pad_id;
    *b = (PaddedBatch){rows, S, T, pad_id, ids, ids + rows * S, ids + rows * (S + T)};
    return b;
}

void batch_padded_free(PaddedBatch *b) {
    free(b);
}

bool batch_is_padding(const PaddedBatch *b, long place) {
    return b->pad_id != NO_PAD && b->target_out[place] == b->pad_id;
}

long batch_padded_targets(const PaddedBatch *b) {
    long tokens = 0;
    for (long i = 0; i < b->rows * b->T; i++) tokens += !batch_is_padding(b, i);
    return tokens;
}

/* The [B,T] ids of that name; B of -1 stands for any number of rows. */
static const Array *find_ids(const Safetensors *file, const char *name, long B,
                             const ModelConfig *c, Error *e) {
    const Array *a = safetensors_need(file, name, e);
    if (!a) return NULL;
    const char *where = ARRAY_PLACE(a);
    if (a->rank != 2)
        error_set(e, STATUS_BAD_DATA, "%s: found %d axes, need [sequences,tokens]", where, a->rank);
    else if (a->count < 1)
        error_set(e, STATUS_BAD_DATA, "%s: found [%ld,%ld], need at least one token", where,
                  a->size[0], a->size[1]);
    else if (B >= 0 && a->size[0] != B)
        error_set(e, STATUS_BAD_DATA, "%s: found %ld sequences, need %ld as in target_in", where,
                  a->size[0], B);
    else if (a->size[1] > c->max_length)
        error_set(e, STATUS_BAD_DATA,
                  "%s: found sequences of %ld tokens, need at most the model's %d", where,
                  a->size[1], c->max_length);
    else if (a->count > INT32_MAX)
        error_set(e, STATUS_BAD_DATA, "%s: found %ld tokens, need at most %d", where, a->count,
                  INT32_MAX);
    else
        return a;
    return NULL;
}

static bool read_ids(const Array *a, const ModelConfig *c, int32_t *out, Error *e) {
    if (!array_to_int32(a, out, e)) return false;
    for (long i = 0; i < a->count; i++)
        if (out[i] < 0 || out[i] >= c->vocab_size)
            return error_set(e, STATUS_BAD_DATA, "%s[%ld,%ld]: found token %ld, need it in [0,%d)",
                             ARRAY_PLACE(a), i / a->size[1], i % a->size[1], (long)out[i],
                             c->vocab_size);
    return true;
}

/* A position that is padding is not computed, so nothing can be asked of it. */
static bool check_targets(const PaddedBatch *b, const char *path, Error *e) {
    for (long i = 0; i < b->rows * b->T; i++)
        if (b->pad_id != NO_PAD && b->target_in[i] == b->pad_id && !batch_is_padding(b, i))
            return error_set(e, STATUS_BAD_DATA,
                             "%s: target_in[%ld,%ld]: found padding, need a token, as in "
                             "target_out",
                             path, i / b->T, i % b->T);
    return true;
}

static PaddedBatch *read_batch(const Safetensors *file, const ModelConfig *c, Error *e) {
    const Array *in = find_ids(file, "target_in", -1, c, e);
    if (!in) return NULL;
    long B = in->size[0], T = in->size[1], S = 0;
    const Array *out = safetensors_need(file, "target_out", e), *source = NULL;
    if (!out || !array_expect_shape(out, SHAPE(B, T), e)) return NULL;
    if (!config_is_lm(c)) {
        source = find_ids(file, "source", B, c, e);
        if (!source) return NULL;
        S = source->size[1];
    }
    PaddedBatch *b = batch_padded(B, S, T, c->pad_id, e);
    if (!b) return NULL;
    bool ok = read_ids(in, c, b->target_in, e) && read_ids(out, c, b->target_out, e) &&
              (!source || read_ids(source, c, b->source, e)) && check_targets(b, file->path, e);
    if (ok) return b;
    batch_padded_free(b);
    return NULL;
}

PaddedBatch *batch_read(const char *path, const ModelConfig *c, Error *e) {
    Safetensors file;
    PaddedBatch *b = safetensors_read(&file, path, e) ? read_batch(&file, c, e) : NULL;
    safetensors_free(&file);
    return b;
}

bool batch_write(const char *path, const PaddedBatch *b, Error *e) {
    Array tensor[] = {array_over("target_in", DTYPE_I32, SHAPE(b->rows, b->T), b->target_in),
                      array_over("target_out", DTYPE_I32, SHAPE(b->rows, b->T), b->target_out),
                      array_over("source", DTYPE_I32, SHAPE(b->rows, b->S), b->source)};
    return safetensors_write(path, NULL, 0, tensor, b->S ? 3 : 2, e);
}

/* ---- Random batches ---- */

static int32_t random_token(const ModelConfig *c, uint64_t key, uint64_t i) {
    long id = random_below(key, i, c->vocab_size - (c->pad_id != NO_PAD));
    return (int32_t)(id + (c->pad_id != NO_PAD && id >= c->pad_id));
}

void batch_random_tokens(const ModelConfig *c, uint64_t key, long n, int32_t *ids) {
    for (long i = 0; i < n; i++) ids[i] = random_token(c, key, (uint64_t)i);
}

PaddedBatch *batch_random(const ModelConfig *c, long rows, long S, long T, uint64_t seed,
                          Error *e) {
    if (config_is_lm(c)) S = 0;
    PaddedBatch *b = batch_padded(rows, S, T, c->pad_id, e);
    if (!b) return NULL;
    uint64_t key = random_key(seed, STREAM_BATCH), lengths = random_key(key, 0);
    for (long r = 0; r < rows; r++) {
        bool longest = r == 0 || c->pad_id == NO_PAD;
        long s = S && !longest ? 1 + random_below(lengths, (uint64_t)(2 * r), S) : S;
        long t = !longest ? 1 + random_below(lengths, (uint64_t)(2 * r + 1), T) : T;
        batch_random_tokens(c, random_key(key, (uint64_t)(3 * r + 1)), s, b->source + r * S);
        batch_random_tokens(c, random_key(key, (uint64_t)(3 * r + 2)), t, b->target_in + r * T);
        batch_random_tokens(c, random_key(key, (uint64_t)(3 * r + 3)), t, b->target_out + r * T);
    }
    return b;
}
