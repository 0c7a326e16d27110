/* What the measurements share: the six cases, a case at work, and timing. */
#ifndef BENCH_BENCH_CASE_H
#define BENCH_BENCH_CASE_H

#include "nn/nn.h"
#include "training/optimizer.h"

/* Sizes of a case: layers are those of each stack, S and T the lengths of source and target. */
typedef struct Case {
    const char *name;
    ModelKind kind;
    int layers, heads, d_model, d_ff, vocab;
    long batch, S, T;
} Case;

enum { CASES = 6 };
extern const Case bench_cases[CASES];

/* The case of that name, or NULL with STATUS_USAGE. */
const Case *bench_case(const char *name, Error *e);

/* The model of a case. */
ModelConfig case_config(const Case *c);

/* Random tokens, the same for the same stream; to be freed. NULL with STATUS_NO_MEMORY. */
int32_t *case_ids(const Case *c, long count, uint64_t stream, Error *e);

/* Tokens that a step learns to predict: the target's. */
long case_tokens(const Case *c);

/* A case at work: a model, and one batch of random tokens. */
typedef struct Bench {
    const Case *c;
    Model *model;
    Tape *tape;
    int32_t *source_ids, *target_ids, *targets;
    long micro_batch;      /* rows of one forward and backward: see training/micro_batch.h */
    Tokens source, target; /* of a micro-batch */
    Optimizer optimizer;
    double flops; /* of one step's matrix products: op.h says what counts */
} Bench;

/* Needs bench_close even where it fails. */
bool bench_open(Bench *b, const Case *c, Error *e);
void bench_close(Bench *b);

/* Forward and backward of `rows` rows from `first` on, recorded on the tape, which still holds them. */
void bench_record(Bench *b, long first, long rows);

/* Forward and backward of the whole batch: all parameters' gradients. */
void bench_gradient(Bench *b);

/* A whole training step, for bench_time. */
void bench_train(void *bench);

/* Seconds that `run(context)` takes, from runs that take about `seconds` together but are at least `least`,
 * after a few that do not count. What is shorter than the clock can tell is measured several runs at a time.
 */
typedef struct Timing {
    double best, median;
    long runs;
} Timing;
Timing bench_time(void (*run)(void *context), void *context, double seconds, int least);

#endif
