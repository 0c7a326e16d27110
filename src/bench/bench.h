/* The subjects of ./bench. Each prints a table on stdout, or with `json` an object a line. */
#ifndef BENCH_BENCH_H
#define BENCH_BENCH_H

#include "base/error.h"
#include <stdbool.h>

typedef struct BenchOptions {
    double seconds; /* to spend on each figure */
    bool json;
    int plain; /* train through nn_plain_attention */
} BenchOptions;

/* Measures the named case; NULL: all six, or those that the function names. False with the error:
 * STATUS_USAGE for an unknown case, STATUS_NO_MEMORY. */
typedef bool BenchSubject(const char *name, const BenchOptions *o, Error *e);

/* Training steps: forward, loss, backward, clipping to norm 1, AdamW; no dropout; the same work as the
 * PyTorch programs that they are compared with. */
BenchSubject bench_step;

/* The time of a step by operation. */
BenchSubject bench_profile;

/* The time of a step by operation and shapes; then the elementary operations, which models do without, on
 * [tokens, d_model]. The rate counts the multiplications and additions of products; of other operations, the
 * bytes of operands, results and gradients. */
BenchSubject bench_ops;

/* The cost of an operation besides its arithmetic: in chains of an operation that does nothing, and in
 * planned steps. */
BenchSubject bench_dispatch;

/* Steps at 1, 2, 4 and 8 times the batch, context and width of a case (NULL: a small character model): time
 * and arithmetic of a token, and their ratios to those at 1. */
BenchSubject bench_scaling;

/* Decoding with the model of a case (NULL: chars, baby, copy): a language model within its context and beyond
 * it, where its window slides; one answer at a time, and a batch of them. */
BenchSubject bench_decode;

/* Matrix products of the sizes of small Transformers, in three layouts. A name is an error. */
BenchSubject bench_gemm;

/* The time to write a checkpoint, as a share of the time between two of them by default, and its size beside
 * the weights'. Writes into a temporary directory below the current one. */
BenchSubject bench_checkpoint;

#endif
