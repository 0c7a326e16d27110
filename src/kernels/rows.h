/* Reductions over one row of numbers: maximum, sum, sum of exponentials, mean and variance, dot product.
 *
 * Element i belongs to lane i mod 16. The lanes run over a block of 1024 elements, are then added as a tree,
 * and the blocks' sums are added in double. So the bits depend on the row alone and not on the width of the
 * processor's vectors, and the rounding error hardly grows with the length of the row. The loops over the
 * lanes become one or a few vector instructions. */
#ifndef KERNELS_ROWS_H
#define KERNELS_ROWS_H

#include "base/real.h"
#include "kernels/vector.h"
#include "kernels/vector_math.h"
#include <string.h>

#define ROW_LANES 16
enum { ROW_BLOCK = 1024 };

/* The lanes, as one GNU vector: the compiler cuts it into vectors that the processor has. */
typedef real Lanes __attribute__((vector_size(ROW_LANES * sizeof(real))));
#ifdef REAL_DOUBLE
typedef int64_t LaneNumber;
#else
typedef int32_t LaneNumber;
#endif
typedef LaneNumber LaneMask __attribute__((vector_size(ROW_LANES * sizeof(real))));

static inline Lanes lanes_of(real x) {
    return (Lanes){0} + x;
}

static inline Lanes lanes_load(const real *x) {
    Lanes v;
    memcpy(&v, x, sizeof v);
    return v;
}

static inline void lanes_store(real *x, Lanes v) {
    memcpy(x, &v, sizeof v);
}

static inline Lanes lanes_choose(LaneMask which, Lanes a, Lanes b) {
    return (Lanes)(((LaneMask)a & which) | ((LaneMask)b & ~which));
}

#define LANE_NUMBERS ((LaneMask){0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15})

/* The first `count` elements, 0 < count < ROW_LANES; the other lanes are `otherwise`. */
static inline Lanes lanes_load_part(const real *x, long count, real otherwise) {
#if LANES == ROW_LANES
    Lanes v = vector_load_part(x, count);
#else
    Lanes v = {0};
    for (long l = 0; l < count; l++) v[l] = x[l];
#endif
    return lanes_choose(LANE_NUMBERS < (LaneNumber)count, v, lanes_of(otherwise));
}

static inline Lanes lanes_max(Lanes a, Lanes b) {
    return lanes_choose(a > b, a, b);
}

/* Lane l becomes lane l + by mod 16. */
#ifdef __clang__
#define LANES_ROTATE(v, by)                                                                                  \
    __builtin_shufflevector(v, v, (0 + by) % 16, (1 + by) % 16, (2 + by) % 16, (3 + by) % 16, (4 + by) % 16, \
                            (5 + by) % 16, (6 + by) % 16, (7 + by) % 16, (8 + by) % 16, (9 + by) % 16,       \
                            (10 + by) % 16, (11 + by) % 16, (12 + by) % 16, (13 + by) % 16, (14 + by) % 16,  \
                            (15 + by) % 16)
#else
#define LANES_ROTATE(v, by) __builtin_shuffle(v, (LANE_NUMBERS + by) & 15)
#endif

/* The sum of all lanes, as a tree. */
static inline real lanes_sum(Lanes v) {
    v += LANES_ROTATE(v, 8);
    v += LANES_ROTATE(v, 4);
    v += LANES_ROTATE(v, 2);
    return v[0] + v[1];
}

/* The largest of all lanes. */
static inline real lanes_greatest(Lanes v) {
    v = lanes_max(v, LANES_ROTATE(v, 8));
    v = lanes_max(v, LANES_ROTATE(v, 4));
    v = lanes_max(v, LANES_ROTATE(v, 2));
    return v[0] > v[1] ? v[0] : v[1];
}

static inline long row_block_end(long start, long n) {
    return n - start < ROW_BLOCK ? n : start + ROW_BLOCK;
}

/* The largest element, -INFINITY of an empty row. A NaN is passed over: whoever needs to see it, sees it in
 * the sum. */
static inline real row_max(const real *x, long n) {
    Lanes max = lanes_of(-INFINITY);
    long i = 0;
    for (; i + ROW_LANES <= n; i += ROW_LANES) max = lanes_max(lanes_load(x + i), max);
    if (i < n) max = lanes_max(lanes_load_part(x + i, n - i, -INFINITY), max);
    return lanes_greatest(max);
}

static inline real row_sum(const real *x, long n) {
    double total = 0;
    for (long i = 0, end; i < n; i = end) {
        end = row_block_end(i, n);
        Lanes sum = {0};
        for (; i + ROW_LANES <= end; i += ROW_LANES) sum += lanes_load(x + i);
        if (i < end) sum += lanes_load_part(x + i, end - i, 0);
        total += (double)lanes_sum(sum);
    }
    return (real)total;
}

static inline real row_dot(const real *x, const real *y, long n) {
    double total = 0;
    for (long i = 0, end; i < n; i = end) {
        end = row_block_end(i, n);
        Lanes sum = {0};
        for (; i + ROW_LANES <= end; i += ROW_LANES) sum += lanes_load(x + i) * lanes_load(y + i);
        if (i < end) sum += lanes_load_part(x + i, end - i, 0) * lanes_load_part(y + i, end - i, 0);
        total += (double)lanes_sum(sum);
    }
    return (real)total;
}

/* Mean and biased variance, the variance from the distances to the mean. n > 0. */
static inline void row_moments(const real *x, long n, real *mean, real *variance) {
    real m = row_sum(x, n) / (real)n;
    double total = 0;
    for (long i = 0, end; i < n; i = end) {
        end = row_block_end(i, n);
        Lanes sum = {0};
        for (; i + ROW_LANES <= end; i += ROW_LANES) {
            Lanes distance = lanes_load(x + i) - m;
            sum += distance * distance;
        }
        if (i < end) {
            Lanes distance = lanes_load_part(x + i, end - i, m) - m;
            sum += distance * distance;
        }
        total += (double)lanes_sum(sum);
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
