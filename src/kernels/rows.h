/* Reductions over one row of numbers: maximum, sum, sum of exponentials, mean and variance, dot product.
 *
 * Element i belongs to lane i mod 16. The lanes run over a block of 1024 elements, are then added as a tree,
 * and the blocks' sums are added in double. So the bits depend on the row alone and not on the width of the
 * processor's vectors, and the rounding error hardly grows with the length of the row. The loops over the
 * lanes become one or a few vector instructions. */
#ifndef KERNELS_ROWS_H
#define KERNELS_ROWS_H

#include "base/real.h"
#include "kernels/vector_math.h"

enum { ROW_LANES = 16, ROW_BLOCK = 1024 };

static inline real row_tree(real lane[ROW_LANES]) {
    for (int l = 0; l < 8; l++) lane[l] += lane[l + 8];
    for (int l = 0; l < 4; l++) lane[l] += lane[l + 4];
    return (lane[0] + lane[2]) + (lane[1] + lane[3]);
}

static inline long row_block_end(long start, long n) {
    return n - start < ROW_BLOCK ? n : start + ROW_BLOCK;
}

/* The largest element, -INFINITY of an empty row. A NaN is passed over: whoever needs to see it, sees it in
 * the sum. */
static inline real row_max(const real *x, long n) {
    real lane[ROW_LANES], max = -INFINITY;
    for (int l = 0; l < ROW_LANES; l++) lane[l] = -INFINITY;
    long i = 0;
    for (; i + ROW_LANES <= n; i += ROW_LANES)
        for (int l = 0; l < ROW_LANES; l++) lane[l] = x[i + l] > lane[l] ? x[i + l] : lane[l];
    for (; i < n; i++) max = x[i] > max ? x[i] : max;
    for (int l = 0; l < ROW_LANES; l++) max = lane[l] > max ? lane[l] : max;
    return max;
}

static inline real row_sum(const real *x, long n) {
    double total = 0;
    for (long i = 0, end; i < n; i = end) {
        end = row_block_end(i, n);
        real lane[ROW_LANES] = {0};
        for (; i + ROW_LANES <= end; i += ROW_LANES)
            for (int l = 0; l < ROW_LANES; l++) lane[l] += x[i + l];
        for (int l = 0; i + l < end; l++) lane[l] += x[i + l];
        total += (double)row_tree(lane);
    }
    return (real)total;
}

static inline real row_dot(const real *x, const real *y, long n) {
    double total = 0;
    for (long i = 0, end; i < n; i = end) {
        end = row_block_end(i, n);
        real lane[ROW_LANES] = {0};
        for (; i + ROW_LANES <= end; i += ROW_LANES)
            for (int l = 0; l < ROW_LANES; l++) lane[l] += x[i + l] * y[i + l];
        for (int l = 0; i + l < end; l++) lane[l] += x[i + l] * y[i + l];
        total += (double)row_tree(lane);
    }
    return (real)total;
}

/* Mean and biased variance, the variance from the distances to the mean. n > 0. */
static inline void row_moments(const real *x, long n, real *mean, real *variance) {
    real m = row_sum(x, n) / (real)n;
    double total = 0;
    for (long i = 0, end; i < n; i = end) {
        end = row_block_end(i, n);
        real lane[ROW_LANES] = {0};
        for (; i + ROW_LANES <= end; i += ROW_LANES)
            for (int l = 0; l < ROW_LANES; l++) lane[l] += (x[i + l] - m) * (x[i + l] - m);
        for (int l = 0; i + l < end; l++) lane[l] += (x[i + l] - m) * (x[i + l] - m);
        total += (double)row_tree(lane);
    }
    *mean = m;
    *variance = (real)(total / (double)n);
}

/* y = exp(x - shift); returns the sum of y. y may be x. */
static inline real row_exp(real *y, const real *x, real shift, long n) {
    for (long i = 0; i < n; i++) y[i] = vm_exp(x[i] - shift);
    return row_sum(y, n);
}

/* The sum of exp(x - shift), which is not kept: the same bits as row_exp's. */
static inline real row_exp_sum(const real *x, real shift, long n) {
    double total = 0;
    for (long i = 0, end; i < n; i = end) {
        end = row_block_end(i, n);
        real y[ROW_BLOCK];
        total += (double)row_exp(y, x + i, shift, end - i);
    }
    return (real)total;
}

#endif
