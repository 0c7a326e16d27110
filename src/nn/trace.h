/* A forward pass for looking at: every matrix on the way. Where a Forward has a trace, attention is computed step by
 * step by nn_plain_attention, and modules leave here what goes into them and what comes out. */
#ifndef NN_TRACE_H
#define NN_TRACE_H

#include "nn/parameters.h"
#include "ops/ops.h"

/* 3.2, of one sequence: n queries, m keys, h heads. */
typedef struct AttentionSteps {
    Tensor *q, *k, *v; /* [h, n, d_k], [h, m, d_k], [h, m, d_k] */
    Tensor *scores;    /* [h, n, m] q kᵀ; of additive attention Σ w tanh(q + k) */
    Tensor *scaled;    /* [h, n, m] over √d_k; of additive attention `scores` itself */
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

/* A norm or the second half of a sublayer, over the rows of all sequences. */
typedef struct ModuleTrace {
    char name[PARAMETER_NAME]; /* "embedding", "encoder.layers.0.norm1", "….linear1", "….linear2" */
    const Tensor *in,
        *out; /* [rows, …]; of linear1 `out` is behind the activation; the embedding has no `in` */
    struct ModuleTrace *next;
} ModuleTrace;

/* Starts as {0}. What it holds is the tape's and dies when that is reset, as the trace has to then. In the order of
 * computation; the source's embedding comes before the target's. */
typedef struct Trace {
    AttentionTrace *first, *last;
    ModuleTrace *first_module, *last_module;
} Trace;

/* The first trace of that name, or NULL. */
const AttentionTrace *nn_trace_find(const Trace *trace, const char *name);
const ModuleTrace *nn_trace_module(const Trace *trace, const char *name);

/* For the modules: appends an attention over so many sequences, whose steps are still to be filled in. `x` is a
 * tensor of the tape. */
AttentionTrace *nn_trace_add(Trace *trace, const Tensor *x, const char *name, long sequences);

/* For the modules: appends the one whose weight is a leaf of p; nothing where trace is NULL. */
void nn_trace_keep(Trace *trace, const Parameters *p, const Tensor *weight, const Tensor *in,
                   const Tensor *out);

/* 3.2.1, 3.2.2: as tape_attention, of elementary operations alone: one that a reader can follow, and equal to the fast
 * one up to rounding. q, k, v are [rows, d_model]. With w, [d_model], as
 * tape_additive_attention. The steps of every sequence of queries go to `steps`, if not NULL.
 * [query rows, d_model] */
Tensor *nn_plain_attention(Tape *t, Tensor *q, Tensor *k, Tensor *v, Tensor *w, int heads,
                           const Sequences *queries, const Sequences *keys, bool causal,
                           AttentionSteps *steps);

#endif
