/* Attention's softmax over the scores of one query, forward and backward, in lanes of ROW_LANES
 * scores (kernels/rows.h). The query attends to the first `visible` keys; the other scores of the
 * row, up to `width`, are masked. */
#pragma once

#include "kernels/rows.h"
#include <string.h>

/* Scores j … j + 15 of a query with `visible` keys. Masked ones, and the padding up to whole lanes,
 * are -∞ and have weight exactly 0; so the loops need no tails. */
static inline Lanes visible_scores(const real *s, long j, long visible) {
    long count = visible - j < ROW_LANES ? visible - j : ROW_LANES;
    return lanes_first(count, lanes_load(s + j), -INFINITY);
}

/* exp(scale · s - m), where m is the rounded maximum of scale · s. A compiler may fuse the product
 * with the difference, which then takes the product unrounded. At logits of thousands that changes
 * e by a factor of up to 1 + 2·10⁻⁴. It cancels in p = e · inverse only if forward and backward
 * compute the same e. So both call this function, whose one expression is fused in both or in
 * neither. (clang -O0 for AVX-512 fused one of two copies, and dv was wrong by that much.) */
static inline Lanes exponentials(Lanes s, real scale, real m) {
    real y[ROW_LANES];
    lanes_store(y, lanes_sub(lanes_mul(s, lanes_of(scale)), lanes_of(m)));
    for (int l = 0; l < ROW_LANES; l++) y[l] = vm_exp(y[l]);
    return lanes_load(y);
}

/* Sets probabilities, or gradients of scores, of masked keys to 0. */
static inline void clear_masked(real *p, long from, long width) {
    if (from < width) memset(p + from, 0, (size_t)(width - from) * sizeof *p);
}

/* Turns the scores of one query into probabilities. In plain loops:
 *
 *     real m = -INFINITY, sum = 0;
 *     for (long j = 0; j < visible; j++) m = fmax(m, scale * p[j]);
 *     for (long j = 0; j < visible; j++) sum += p[j] = exp(scale * p[j] - m);
 *     for (long j = 0; j < visible; j++) p[j] /= sum;
 *     for (long j = visible; j < width; j++) p[j] = 0;
 *
 * The same in lanes of ROW_LANES scores: */
static inline void softmax_row(real *p, long width, long visible, real scale, real *m_out,
                               real *inverse_out) {
    long used = lanes_whole(visible);
    Lanes max = lanes_of(-INFINITY), sum = lanes_of(0);
    for (long j = 0; j < used; j += ROW_LANES) max = lanes_max(visible_scores(p, j, visible), max);
    real m = visible ? lanes_greatest(max) * scale : 0;
    for (long j = 0; j < used; j += ROW_LANES) {
        Lanes e = exponentials(visible_scores(p, j, visible), scale, m);
        sum = lanes_add(sum, e);
        lanes_store(p + j, e);
    }
    real inverse = visible ? 1 / lanes_sum(sum) : 0;
    for (long j = 0; j < used; j += ROW_LANES)
        lanes_store(p + j, lanes_mul(lanes_load(p + j), lanes_of(inverse)));
    clear_masked(p, used, width);
    *m_out = m;
    *inverse_out = inverse;
}

/* Turns the scores of one query into probabilities again, and dp into ds. In a plain loop:
 *
 *     for (long j = 0; j < visible; j++) {
 *         p[j] = exp(scale * p[j] - m) * inverse;
 *         ds[j] = p[j] * (ds[j] - D) * scale;
 *     } */
static inline void softmax_backward_row(real *p, real *ds, long width, long visible, real scale,
                                        real m, real inverse, real D) {
    long used = lanes_whole(visible);
    for (long j = 0; j < used; j += ROW_LANES) {
        Lanes weight =
            lanes_mul(exponentials(visible_scores(p, j, visible), scale, m), lanes_of(inverse));
        Lanes dp = lanes_load(ds + j);
        lanes_store(p + j, weight);
        lanes_store(ds + j,
                    lanes_mul(lanes_mul(weight, lanes_sub(dp, lanes_of(D))), lanes_of(scale)));
    }
    clear_masked(p, used, width);
    clear_masked(ds, used, width);
}
