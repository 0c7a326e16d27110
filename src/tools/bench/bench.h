/* The subjects of ./bench. Each prints a table on stdout, or with `json` one object per line. */
#pragma once

#include "base/arena.h"
#include "nn/nn.h"
#include "training/trainer.h"

typedef struct BenchOptions {
    double seconds; /* to spend on each figure */
    bool json;
    int plain; /* train through nn_plain_attention */
} BenchOptions;

/* Measures the named case; NULL: all, or those that the function names. False with the error:
 * STATUS_USAGE for an unknown case, STATUS_NO_MEMORY. */
typedef bool BenchSubject(const char *name, const BenchOptions *o, Error *e);

/* Training steps: forward, loss, backward, clipping to norm 1, AdamW; no dropout; the same work as
 * the PyTorch programs that they are compared with. */
BenchSubject bench_step;

/* Matrix products of the sizes of small Transformers, in three layouts. A name is an error. */
BenchSubject bench_gemm;

/* ---- Shared by the subjects: the six cases, a case ready to train, timing, printing ---- */

/* A model and its batch: layers of each stack, lengths S and T of source and target. */
typedef struct Case {
    const char *name;
    bool lm;
    int layers, heads, d_model, d_ff, vocab;
    long batch, S, T;
    const char *origin; /* where its sizes come from */
    bool modern; /* as --preset modern: rotary positions, normalised queries and keys, Muon */
} Case;

enum { CASES = 8 };
extern const Case bench_cases[CASES];

/* The case of that name, or NULL with STATUS_USAGE. */
const Case *bench_case(const char *name, Error *e);

/* Calls measure for the case of that name; NULL: for all. */
bool bench_each(const char *name, bool (*measure)(const Case *c, const BenchOptions *o, Error *e),
                const BenchOptions *o, Error *e);

/* The configuration of its model. */
ModelConfig case_config(const Case *c);

/* Random tokens, the same for the same stream. */
int32_t *case_ids(Arena *a, const Case *c, long count, uint64_t stream);

/* A case ready to train: a model, and one batch of random tokens. */
typedef struct Bench {
    const Case *c;
    Model *model;
    Tape *tape;
    Arena arena; /* of the ids */
    int32_t *source_ids, *target_ids, *targets;
    long micro_batch;      /* rows of one forward and backward: see training/trainer.h */
    Tokens source, target; /* of a micro-batch */
    Optimizer optimizer;
    double flops; /* of the matrix products of a step, as Op.flops counts */
} Bench;

/* Makes a case ready, with the attention of the options. Needs bench_close even if it fails. */
bool bench_open(Bench *b, const Case *c, const BenchOptions *o, Error *e);
void bench_close(Bench *b);

/* Records forward and backward of rows [first, first + rows). The tape keeps them. */
void bench_record(Bench *b, long first, long rows);

/* Computes the gradients of the whole batch. */
void bench_gradient(Bench *b);

/* A whole training step, for bench_time. */
void bench_train(void *bench);

/* Seconds that run(context) takes. Runs it for about `seconds`, at least `least` times, after a few
 * runs that do not count. Times several runs at once if one is shorter than the clock's
 * resolution. */
typedef struct Timing {
    double best, median;
    long runs;
} Timing;
Timing bench_time(void (*run)(void *context), void *context, double seconds, int least);

/* GFLOP/s of independent multiply-adds on the registers of one thread. The first call measures it,
 * for at most `seconds` and 0.2 s. */
double bench_peak_gflops(double seconds);

/* A member of a JSON object, and a column of the table: text, or else a number with `digits` after
 * the point. A number that is NAN is left out of the object and a dash in the table. */
typedef struct Figure {
    const char *name, *text;
    double value;
    int digits;
} Figure;

/* Prints one line. The table has a new head where the names differ from those of the last line. */
void bench_print(const BenchOptions *o, const Figure *figure, int count);
#define BENCH_PRINT(o, ...)                                                                        \
    bench_print(o, (const Figure[]){__VA_ARGS__},                                                  \
                sizeof((const Figure[]){__VA_ARGS__}) / sizeof(Figure))
