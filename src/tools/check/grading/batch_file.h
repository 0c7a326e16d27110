/* Files of batches, for comparing a model with another implementation. A batch file is a
 * safetensors file of I64 or I32 token ids, padded with the model's pad_id:
 *
 *     source [B,S] (seq2seq only)      target_in [B,T]      target_out [B,T] */
#pragma once

#include "nn/nn.h"

/* The rows of a batch file, each padded to the longest. */
typedef struct PaddedBatch {
    long rows, S, T; /* S is 0 for a language model */
    int32_t pad_id;
    int32_t *source;                 /* [rows,S] */
    int32_t *target_in, *target_out; /* [rows,T] */
} PaddedBatch;

/* Rows of padding; to be freed. NULL: STATUS_NO_MEMORY. */
PaddedBatch *batch_padded(long rows, long S, long T, int32_t pad_id, Error *e);
void batch_padded_free(PaddedBatch *b);

/* Whether target_out has padding at a place, and the number of its tokens that are none. */
bool batch_is_padding(const PaddedBatch *b, long place);
long batch_padded_targets(const PaddedBatch *b);

/* Reads a batch for a model of this configuration; to be freed. Other tensors are ignored. NULL:
 * the file cannot be read, or STATUS_BAD_DATA: a tensor is missing or has a wrong shape, a sequence
 * is longer than max_length, an id is outside the vocabulary, or target_in is padding where
 * target_out is not. */
PaddedBatch *batch_read(const char *path, const ModelConfig *c, Error *e);

/* Writes a batch file with I32 ids, atomically. */
bool batch_write(const char *path, const PaddedBatch *b, Error *e);

/* The first n random tokens of the key's stream; none is padding. */
void batch_random_tokens(const ModelConfig *c, uint64_t key, long n, int32_t *ids);

/* Up to S source tokens (0 for a language model) and T target tokens in each row. Row 0 has full
 * length; if the model has padding, the others have random lengths of at least 1. To be freed;
 * NULL: STATUS_NO_MEMORY. */
PaddedBatch *batch_random(const ModelConfig *c, long rows, long S, long T, uint64_t seed, Error *e);
