/* Batches and gradients as files, for holding a model against another implementation of it.
 *
 * A batch file is a safetensors file of I64 or I32 token ids, padded with the model's pad_id:
 *
 *     source [B,S] (for a seq2seq)      target_in [B,T]      target_out [B,T]
 *
 * A gradient file has what the model makes of it, F32 or F64:
 *
 *     loss []      logits [B,T,V], 0 where target_out is padding      grad.NAME, as the parameter NAME */
#ifndef GRADING_BATCH_FILE_H
#define GRADING_BATCH_FILE_H

#include "nn/nn.h"

/* The rows of a batch file, each padded to the longest. */
typedef struct PaddedBatch {
    long rows, S, T; /* S is 0 for a language model */
    int32_t pad_id;
    int32_t *source;                 /* [rows,S] */
    int32_t *target_in, *target_out; /* [rows,T] */
} PaddedBatch;

/* Rows of nothing but padding; the caller frees them. NULL: STATUS_NO_MEMORY. */
PaddedBatch *batch_padded(long rows, long S, long T, int32_t pad_id, Error *e);
void batch_padded_free(PaddedBatch *b);

/* Tokens of target_out, which the loss counts. */
long batch_padded_targets(const PaddedBatch *b);

/* Reads a batch for this model; the caller frees it. The file's other tensors are not looked at. NULL with
 * the error if the file cannot be had, or with STATUS_BAD_DATA if a tensor is missing or of another shape,
 * sequences are longer than the model's max_length, an id is not in the vocabulary, or a padded target_in
 * stands beside a target_out that is not. */
PaddedBatch *batch_read(const char *path, const ModelConfig *c, Error *e);

/* Writes a batch as batch_read has it, with I32 ids, atomically. */
bool batch_write(const char *path, const PaddedBatch *b, Error *e);

/* Writes the gradients that the model's parameters hold (settled), atomically. `logits` are those of the
 * tokens in target, as filled from b's target_in: [rows, vocab_size]. */
bool gradients_write(const char *path, const Model *m, const PaddedBatch *b, const Tokens *target, real loss,
                     const real *logits, Error *e);

#endif
