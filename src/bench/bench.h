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

/* The time of a step by operation and shapes. The rate counts the multiplications and additions of products;
 * of other operations, the bytes of operands, results and gradients. */
BenchSubject bench_ops;

/* Decoding with the model of a case (NULL: chars, baby, copy): a language model within its context and beyond
 * it, where its window slides; one answer at a time, and a batch of them. */
BenchSubject bench_decode;

/* Matrix products of the sizes of small Transformers, in three layouts. A name is an error. */
BenchSubject bench_gemm;

#endif
