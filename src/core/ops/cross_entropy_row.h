/* Targets, the loss of one row of logits and its gradient: shared by cross_entropy and
 * linear_cross_entropy.
 *
 *     p_j = e^x_j / Σ_k e^x_k
 *     q_j = (1-ε) δ_jt + ε/V      target distribution: label smoothing over the whole vocabulary
 *     loss = -Σ_j q_j log p_j = lse(x) - (1-ε) x_t - ε/V Σ_j x_j
 *     ∂loss/∂x_j = p_j - q_j */
#pragma once

#include "kernels/rows.h"
#include "ops/arguments.h"
#include "ops/ops.h"
#include <math.h>

/* The tokens that n rows of V logits predict. */
typedef struct Targets {
    const int32_t *id;  /* [n] the caller's: in [0, V), or `ignore` */
    long n, V, counted; /* counted: rows whose target is not `ignore` */
    int32_t ignore;
    real smoothing;
} Targets;

/* Rows of a block of logits [rows, V]: small enough for the cache, large enough for an efficient
 * product. */
static inline long logit_block_rows(long n, long V) {
    enum { ELEMENTS = 1 << 21 };
    long rows = ELEMENTS / V / 64 * 64;
    if (rows < 64) rows = 64;
    return rows < n ? rows : n;
}

/* Returns the loss; unless dx is NULL, sets dx_j = scale (p_j - q_j). dx may be x. */
static inline double cross_entropy_row(long V, const real *x, long target, real smoothing,
                                       real scale, real *dx) {
    real m = row_max(x, V), x_t = x[target], above = 0, sum;
    if (smoothing > 0) above = row_sum(x, V) - (real)V * m;
    if (dx) {
        sum = row_exp(dx, x, m, V);
        real factor = scale / sum, share = scale * smoothing / (real)V;
        for (long j = 0; j < V; j++) dx[j] = dx[j] * factor - share;
        dx[target] -= scale * (1 - smoothing);
    } else {
        sum = row_exp_sum(x, m, V);
    }
    double loss = log((double)sum) - (1 - (double)smoothing) * ((double)x_t - (double)m);
    return smoothing > 0 ? loss - (double)smoothing / (double)V * (double)above : loss;
}

/* Counts the targets. Reports one outside [0, V), other than `ignore`, or a smoothing outside [0,
 * 1] as a bug in op's name. */
static inline Targets targets_of(const char *op, long n, long V, const int32_t *id, int32_t ignore,
                                 double smoothing) {
    Targets all = {.id = id, .n = n, .V = V, .ignore = ignore, .smoothing = (real)smoothing};
    if (!(smoothing >= 0 && smoothing <= 1))
        error_bug("%s: smoothing is %g, want it in [0,1]", op, smoothing);
    if (n && !id) error_bug("%s: targets is NULL", op);
    for (long i = 0; i < n; i++) {
        if (id[i] != ignore && (id[i] < 0 || id[i] >= V))
            error_bug("%s: target %ld is %ld, want it in [0,%ld)", op, i, (long)id[i], V);
        all.counted += id[i] != ignore;
    }
    return all;
}

/* For Op.arguments, where n->attr begins with Targets. */
static inline void targets_print(const Node *n, FILE *out) {
    const Targets *t = n->attr;
    print_ids(out, "targets", t->id, t->n);
    fprintf(out, ", \"ignore\": %ld, ", (long)t->ignore);
    print_number(out, "smoothing", (double)t->smoothing);
}
