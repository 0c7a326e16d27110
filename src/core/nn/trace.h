/* A trace keeps results of a pass for display: the matrices of attention, and names of tensors. If
 * a Forward has one, nn_plain_attention computes attention, and the trace keeps its steps. */
#pragma once

#include "nn/config.h"
#include "nn/parameters.h"
#include "ops/ops.h"

/* 3.2, of one sequence: n queries, m keys, h heads. */
typedef struct AttentionSteps {
    Tensor *q, *k, *v;     /* [h, n, d_k], [h, m, d_k], [h, m, d_k] */
    Tensor *scores;        /* [h, n, m] q kᵀ; of additive attention Σ w tanh(q + k) */
    Tensor *scaled;        /* [h, n, m] scores / √d_k; of additive attention `scores` itself */
    Tensor *masked;        /* [h, n, m] -∞ at hidden keys; `scaled` itself if no key is hidden */
    Tensor *weights;       /* [h, n, m] softmax: each row sums to 1 */
    Tensor *z;             /* [h, n, d_k] weights v */
    Tensor *concatenation; /* [n, d_model] the heads side by side */
} AttentionSteps;

typedef struct AttentionTrace {
    const char *name; /* as in a weight file: "decoder.layers.1.multihead_attn" */
    long sequences;
    AttentionSteps *steps; /* [sequences] */
    struct AttentionTrace *next;
} AttentionTrace;

/* The things that an axis of a tensor counts. */
typedef enum Axis {
    AXIS_UNKNOWN,
    AXIS_SOURCE, /* tokens of the source */
    AXIS_TARGET, /* tokens of the target */
    AXIS_VOCABULARY,
    AXIS_HEAD,
    AXIS_FEATURE
} Axis;

typedef struct Axes {
    Axis of[MAX_RANK];
} Axes;
#define AXES(...) ((Axes){{__VA_ARGS__}})

/* A named tensor. */
typedef struct TensorTrace {
    const Tensor *x;
    const char *name; /* as in the paper: "Q" */
    Axes axes;
    struct TensorTrace *next;
} TensorTrace;

/* The records of one pass, in the order of computation. Starts as {0}. The tape owns its contents:
 * the caller sets it to {0} when it resets the tape. */
typedef struct Trace {
    AttentionTrace *first, *last;
    TensorTrace *tensors; /* the newest first */
} Trace;

/* The trace of the first attention of that name, or NULL. */
const AttentionTrace *nn_trace_find(const Trace *trace, const char *name);

/* For modules: appends the record of an attention over `sequences` sequences, with empty steps. `x`
 * is any tensor of the tape. */
AttentionTrace *nn_trace_add(Trace *trace, const Tensor *x, const char *name, long sequences);

/* For modules: gives x a name, and says what its axes count. An axis left out is AXIS_UNKNOWN. If x
 * has a name, it keeps the first. `tape` is that of the pass. trace NULL: this does nothing. */
void nn_trace_name(Trace *trace, Tape *tape, Tensor *x, const char *name, Axes axes);

/* The name of x, or NULL. */
const TensorTrace *nn_trace_name_of(const Trace *trace, const Tensor *x);
