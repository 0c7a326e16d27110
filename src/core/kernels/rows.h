/* Reductions of one row of numbers: maximum, sum, sum of exponentials, mean and variance, dot
 * product.
 *
 * Element i belongs to lane i mod 16. Each lane sums its elements of a block of 1024; a tree adds
 * the lanes; the sums of the blocks are added in double. So the bits do not depend on the width of
 * the processor's vectors, and the rounding error hardly grows with the length of the row. */
#pragma once

#include "base/real.h"
#include "base/work.h"
#include "kernels/vector.h"
#include "kernels/vector_math.h"
#include <stddef.h>

enum { ROW_LANES = 16, ROW_BLOCK = 1024 };

/* The number of columns, rounded up to a multiple of ROW_LANES. */
static inline long lanes_whole(long columns) {
    return (columns + ROW_LANES - 1) / ROW_LANES * ROW_LANES;
}

/* 16 lanes in vectors of the machine. (The compiler would keep one vector type of 16 lanes in
 * memory.) */
enum { LANE_PARTS = ROW_LANES / LANES };
typedef struct Lanes {
    Vector part[LANE_PARTS];
} Lanes;

static inline Lanes lanes_of(real x) {
    Lanes v;
    for (int p = 0; p < LANE_PARTS; p++) v.part[p] = (Vector){0} + x;
    return v;
}

static inline Lanes lanes_load(const real *x) {
    Lanes v;
    for (int p = 0; p < LANE_PARTS; p++) v.part[p] = vector_load(x + p * LANES);
    return v;
}

static inline void lanes_store(real *x, Lanes v) {
    for (int p = 0; p < LANE_PARTS; p++) vector_store(x + p * LANES, v.part[p]);
}

static inline Lanes lanes_add(Lanes a, Lanes b) {
    for (int p = 0; p < LANE_PARTS; p++) a.part[p] += b.part[p];
    return a;
}

static inline Lanes lanes_sub(Lanes a, Lanes b) {
    for (int p = 0; p < LANE_PARTS; p++) a.part[p] -= b.part[p];
    return a;
}

static inline Lanes lanes_mul(Lanes a, Lanes b) {
    for (int p = 0; p < LANE_PARTS; p++) a.part[p] *= b.part[p];
    return a;
}

static inline Lanes lanes_max(Lanes a, Lanes b) {
    for (int p = 0; p < LANE_PARTS; p++)
        a.part[p] = vector_choose(a.part[p] > b.part[p], a.part[p], b.part[p]);
    return a;
}

/* The first `count` lanes of v; the others are `otherwise`. */
static inline Lanes lanes_first(long count, Lanes v, real otherwise) {
    for (int p = 0; p < LANE_PARTS; p++)
        v.part[p] =
            vector_choose(vector_first(count - p * LANES), v.part[p], (Vector){0} + otherwise);
    return v;
}

/* The first `count` elements, 0 < count < ROW_LANES; the other lanes are `otherwise`. */
static inline Lanes lanes_load_part(const real *x, long count, real otherwise) {
    Lanes v;
    for (int p = 0; p < LANE_PARTS; p++) {
        long left = count - p * LANES;
        v.part[p] = (Vector){0};
        if (left >= LANES)
            v.part[p] = vector_load(x + p * LANES);
        else if (left > 0)
            v.part[p] = vector_load_part(x + p * LANES, left);
    }
    return lanes_first(count, v, otherwise);
}

/* ROW_LANES elements, or fewer if only `count` are left; then the other lanes are 0. */
static inline Lanes lanes_load_some(const real *x, long count) {
    return count >= ROW_LANES ? lanes_load(x) : lanes_load_part(x, count, 0);
}

/* Stores the first `count` lanes, 0 < count < ROW_LANES. */
static inline void lanes_store_part(real *x, Lanes v, long count) {
    for (int p = 0; p < LANE_PARTS && count > p * LANES; p++) {
        long left = count - p * LANES;
        vector_store_part(x + p * LANES, v.part[p], left < LANES ? left : LANES);
    }
}

/* The sum of all lanes, as a tree: lane l and lane l + 8, then l and l + 4, and so on. */
static inline real lanes_sum(Lanes v) {
    for (int half = LANE_PARTS / 2; half > 0; half /= 2)
        for (int p = 0; p < half; p++) v.part[p] += v.part[p + half];
    Vector sum = v.part[0];
    for (int half = LANES / 2; half > 1; half /= 2) sum += vector_rotate(sum, half);
    return sum[0] + sum[1];
}

/* The largest of all lanes. */
static inline real lanes_greatest(Lanes v) {
    Vector max = v.part[0];
    for (int p = 1; p < LANE_PARTS; p++) max = vector_choose(max > v.part[p], max, v.part[p]);
    for (int half = LANES / 2; half > 1; half /= 2) {
        Vector other = vector_rotate(max, half);
        max = vector_choose(max > other, max, other);
    }
    return max[0] > max[1] ? max[0] : max[1];
}

/* The largest element; -INFINITY if the row is empty. Ignores NaN, which the sum shows. */
static inline real row_max(const real *x, long n) {
    Lanes max = lanes_of(-INFINITY);
    long i = 0;
    for (; i + ROW_LANES <= n; i += ROW_LANES) max = lanes_max(lanes_load(x + i), max);
    if (i < n) max = lanes_max(lanes_load_part(x + i, n - i, -INFINITY), max);
    return lanes_greatest(max);
}

/* The sum of x, of x·y if y is not NULL, or of (x - *mean)² if mean is not NULL. Inlined with
 * constants for those that are NULL. */
static inline __attribute__((always_inline)) double row_total(const real *x, const real *y,
                                                              const real *mean, long n) {
    double total = 0;
    for (long i = 0, end; i < n; i = end) {
        Lanes sum = lanes_of(0);
        end = chunk_end(i, ROW_BLOCK, n);
        for (; i < end; i += ROW_LANES) {
            bool part = end - i < ROW_LANES;
            real otherwise = mean ? *mean : 0;
            Lanes v = part ? lanes_load_part(x + i, end - i, otherwise) : lanes_load(x + i);
            if (y) v = lanes_mul(v, part ? lanes_load_part(y + i, end - i, 0) : lanes_load(y + i));
            if (mean) {
                v = lanes_sub(v, lanes_of(*mean));
                v = lanes_mul(v, v);
            }
            sum = lanes_add(sum, v);
        }
        total += (double)lanes_sum(sum);
    }
    return total;
}

static inline real row_sum(const real *x, long n) {
    return (real)row_total(x, NULL, NULL, n);
}

static inline real row_dot(const real *x, const real *y, long n) {
    return (real)row_total(x, y, NULL, n);
}

/* Mean and biased variance; the variance is the mean of squared distances to the mean. n > 0. */
static inline void row_moments(const real *x, long n, real *mean, real *variance) {
    real m = row_sum(x, n) / (real)n;
    *mean = m;
    *variance = (real)(row_total(x, NULL, &m, n) / (double)n);
}

/* y = exp(x - shift); returns the sum of y. y may be x. */
static inline real row_exp(real *y, const real *x, real shift, long n) {
    for (long i = 0; i < n; i++) y[i] = vm_exp(x[i] - shift);
    return row_sum(y, n);
}

/* The sum of exp(x - shift) alone, with row_exp's bits. */
static inline real row_exp_sum(const real *x, real shift, long n) {
    double total = 0;
    for (long i = 0, end; i < n; i = end) {
        end = chunk_end(i, ROW_BLOCK, n);
        real y[ROW_BLOCK];
        total += (double)row_exp(y, x + i, shift, end - i);
    }
    return (real)total;
}
