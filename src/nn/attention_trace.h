/* Attention step by step, for looking at: every matrix on the way from queries, keys and values to the output. Where
 * a forward pass has a trace, its attentions are computed by nn_plain_attention and leave their steps here. */
#ifndef NN_ATTENTION_TRACE_H
#define NN_ATTENTION_TRACE_H

#include "autograd/tape.h"
#include "ops/sequences.h"

/* 3.2, of one sequence: n queries, m keys, h heads. */
typedef struct AttentionSteps {
    Tensor *q, *k, *v; /* [h, n, d_k], [h, m, d_k], [h, m, d_k] */
    Tensor *scores;    /* [h, n, m] q kᵀ */
    Tensor *scaled;    /* [h, n, m] over √d_k */
    Tensor *masked;  /* [h, n, m] -∞ where a query may not look; `scaled` itself where it may everywhere */
    Tensor *weights; /* [h, n, m] softmax: each row sums to 1 */
    Tensor *z;       /* [h, n, d_k] weights v */
    Tensor *concatenation; /* [n, d_model] the heads side by side */
    Tensor *output;        /* [n, d_model] through W^O; only where a module recorded them */
} AttentionSteps;

typedef struct AttentionTrace {
    const char *name; /* as in a weight file: "decoder.layers.1.multihead_attn" */
    long sequences;
    AttentionSteps *steps; /* [sequences] */
    struct AttentionTrace *next;
} AttentionTrace;

/* Starts as {0}. What it holds is the tape's and dies when that is reset, as the trace has to then. */
typedef struct Trace {
    AttentionTrace *first, *last; /* in the order of computation */
} Trace;

/* The trace of the attention of that name, or NULL. */
const AttentionTrace *nn_trace_find(const Trace *trace, const char *name);

/* For the modules: appends an attention over so many sequences, whose steps are still to be filled in. `x` is a
 * tensor of the tape. */
AttentionTrace *nn_trace_add(Trace *trace, const Tensor *x, const char *name, long sequences);

/* 3.2.1, 3.2.2: as tape_attention, of elementary operations alone: one that a reader can follow, and equal to the fast
 * one up to rounding. q, k, v are [rows, d_model]. The steps of every sequence of queries go to `steps`, if not NULL.
 * [query rows, d_model] */
Tensor *nn_plain_attention(Tape *t, Tensor *q, Tensor *k, Tensor *v, int heads, const Sequences *queries,
                           const Sequences *keys, bool causal, AttentionSteps *steps);

#endif
