/* The subjects of ./bench. Each prints a table on stdout, or with `json` one object per line. */
#pragma once

#include "base/error.h"

typedef struct BenchOptions {
    double seconds; /* to spend on each figure */
    bool json;
    int plain; /* train through nn_plain_attention */
} BenchOptions;

/* Measures the named case; NULL: all, or those that the function names. False with the error:
 * STATUS_USAGE for an unknown case, STATUS_NO_MEMORY. */
typedef bool BenchSubject(const char *name, const BenchOptions *o, Error *e);

/* Training steps, and matrix products of the sizes of small Transformers, in three layouts; for
 * these a name is an error. */
BenchSubject bench_step, bench_gemm;

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
