/* Measurements: what ./bench runs. Each prints a table, or JSON lines, on stdout. */
#ifndef BENCH_BENCH_H
#define BENCH_BENCH_H

#include "base/error.h"
#include <stdbool.h>

typedef struct BenchOptions {
    double seconds; /* to spend on each figure */
    bool json;
} BenchOptions;

/* Training steps of the six cases, each the same work as in a PyTorch program that steps the same model:
 * forward, loss, backward, clipping to norm 1, AdamW; dropout 0; float. `name` NULL: all of them. */
bool bench_step(const char *name, const BenchOptions *o, Error *e);

/* Where the time of a case's step goes, by operation. */
bool bench_profile(const char *name, const BenchOptions *o, Error *e);

/* Matrix products of the sizes that small Transformers are made of, in all three layouts; `which` is NULL. */
bool bench_gemm(const char *which, const BenchOptions *o, Error *e);

/* The same by operation and shapes of its operands; then the elementary operations, which models do without,
 * on matrices of the case's tokens by d_model. The rate of an operation that is made of matrix products is
 * that of their arithmetic, forward and backward together; of another, that of its operands, results and
 * their gradients through memory. */
bool bench_ops(const char *name, const BenchOptions *o, Error *e);

/* Training steps at 1, 2, 4 and 8 times the batch, the context and the width of a case (NULL: of a small character
 * model): time and arithmetic of a token, and their ratios to those at 1. */
bool bench_scaling(const char *name, const BenchOptions *o, Error *e);

/* Decoding with the models of a case, or of chars, baby and copy: a language model within its context and beyond it,
 * where its window slides; answers one at a time, and a batch of them. */
bool bench_decode(const char *name, const BenchOptions *o, Error *e);

/* What an operation costs besides its arithmetic: in chains of one that does nothing, and in the step of a case, or of
 * all. */
bool bench_dispatch(const char *name, const BenchOptions *o, Error *e);

/* Checkpoints of the models of a case, or of all: the time to write one, as a share of that between two of them by
 * default, and its size beside that of the weights. They are written below the folder that the program is called in. */
bool bench_checkpoint(const char *name, const BenchOptions *o, Error *e);

#endif
