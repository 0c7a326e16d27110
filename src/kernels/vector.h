/* The vector of the machine: the widest of the compilation's target, as a GNU vector type, so that the
 * compiler turns `c += a * b` into a fused multiply-add. */
#ifndef KERNELS_VECTOR_H
#define KERNELS_VECTOR_H

#include "base/real.h"

#if defined __AVX512F__
#define VECTOR_BYTES 64
#elif defined __AVX__
#define VECTOR_BYTES 32
#else
#define VECTOR_BYTES 16
#endif

#ifdef REAL_DOUBLE
#define LANES (VECTOR_BYTES / 8)
#else
#define LANES (VECTOR_BYTES / 4)
#endif

typedef real Vector __attribute__((vector_size(VECTOR_BYTES)));
typedef Vector VectorInMemory __attribute__((aligned(sizeof(real)), may_alias));

/* In every lane of a mask all bits are set, or none. */
#ifdef REAL_DOUBLE
typedef long long LaneNumber;
#else
typedef int LaneNumber;
#endif
typedef LaneNumber VectorMask __attribute__((vector_size(VECTOR_BYTES)));

static inline Vector vector_load(const real *x) {
    return *(const VectorInMemory *)x;
}

static inline void vector_store(real *x, Vector v) {
    *(VectorInMemory *)x = v;
}

static inline Vector vector_choose(VectorMask which, Vector a, Vector b) {
    return (Vector)(((VectorMask)a & which) | ((VectorMask)b & ~which));
}

#ifdef __clang__
#define SHUFFLE(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define SHUFFLE(a, b, ...) __builtin_shuffle(a, b, (VectorMask){__VA_ARGS__})
#endif

#define AT(l, by) (((l) + (by)) % LANES)
#if LANES == 16
#define LANE_NUMBERS ((VectorMask){0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15})
#define ROTATE(v, by)                                                                                        \
    SHUFFLE(v, v, AT(0, by), AT(1, by), AT(2, by), AT(3, by), AT(4, by), AT(5, by), AT(6, by), AT(7, by),    \
            AT(8, by), AT(9, by), AT(10, by), AT(11, by), AT(12, by), AT(13, by), AT(14, by), AT(15, by))
#elif LANES == 8
#define LANE_NUMBERS ((VectorMask){0, 1, 2, 3, 4, 5, 6, 7})
#define ROTATE(v, by)                                                                                        \
    SHUFFLE(v, v, AT(0, by), AT(1, by), AT(2, by), AT(3, by), AT(4, by), AT(5, by), AT(6, by), AT(7, by))
#elif LANES == 4
#define LANE_NUMBERS  ((VectorMask){0, 1, 2, 3})
#define ROTATE(v, by) SHUFFLE(v, v, AT(0, by), AT(1, by), AT(2, by), AT(3, by))
#else
#define LANE_NUMBERS  ((VectorMask){0, 1})
#define ROTATE(v, by) SHUFFLE(v, v, AT(0, by), AT(1, by))
#endif

/* The first `count` lanes; none where count is negative. */
static inline VectorMask vector_first(long count) {
    return LANE_NUMBERS < (LaneNumber)count;
}

/* Lane l becomes lane l + by, modulo LANES; by is 8, 4 or 2. */
static inline Vector vector_rotate(Vector v, int by) {
    return by == 8 ? ROTATE(v, 8) : by == 4 ? ROTATE(v, 4) : ROTATE(v, 2);
}

/* The built-in functions of GCC and Clang behind _mm512_maskz_loadu_ps and its kind: <immintrin.h> itself
 * would take a fifth of the time to build. */
#if defined __AVX512F__ && defined REAL_DOUBLE
#define LOAD_LANES(x, count)                                                                                 \
    __builtin_ia32_loadupd512_mask(x, (Vector){0}, (unsigned char)((1u << (count)) - 1))
#define STORE_LANES(x, v, count) __builtin_ia32_storeupd512_mask(x, v, (unsigned char)((1u << (count)) - 1))
#elif defined __AVX512F__
#define LOAD_LANES(x, count)                                                                                 \
    __builtin_ia32_loadups512_mask(x, (Vector){0}, (unsigned short)((1u << (count)) - 1))
#define STORE_LANES(x, v, count) __builtin_ia32_storeups512_mask(x, v, (unsigned short)((1u << (count)) - 1))
#elif defined __AVX__ && defined REAL_DOUBLE
#define LOAD_LANES(x, count) __builtin_ia32_maskloadpd256((const Vector *)(x), vector_first(count))
#elif defined __AVX__
#define LOAD_LANES(x, count) __builtin_ia32_maskloadps256((const Vector *)(x), vector_first(count))
#endif

/* Loads the first `count` lanes, 0 < count <= LANES, without touching memory after them; the other lanes
 * are 0. */
static inline Vector vector_load_part(const real *x, long count) {
    if (__builtin_constant_p(count) && count == LANES) return vector_load(x);
#ifdef LOAD_LANES
    return LOAD_LANES(x, count);
#else
    if (count == LANES) return vector_load(x);
    Vector v = {0};
    for (long l = 0; l < count; l++) v[l] = x[l];
    return v;
#endif
}

/* Stores the first `count` lanes. A whole vector is stored without a mask: a load after a masked store has
 * to wait. */
static inline void vector_store_part(real *x, Vector v, long count) {
    if (count == LANES) {
        vector_store(x, v);
        return;
    }
#ifdef STORE_LANES
    STORE_LANES(x, v, count);
#else
    for (long l = 0; l < count; l++) x[l] = v[l];
#endif
}

/* a₀ b₀ a₁ b₁ … of the lower halves of a and b, and of the upper halves. In vectors of 32 bytes each half
 * of 16 bytes is interleaved by itself. */
#if LANES == 16
#define INTERLEAVE_LOWER(a, b) SHUFFLE(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23)
#define INTERLEAVE_UPPER(a, b) SHUFFLE(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31)
#elif VECTOR_BYTES == 32 && LANES == 8
#define INTERLEAVE_LOWER(a, b) SHUFFLE(a, b, 0, 8, 1, 9, 4, 12, 5, 13)
#define INTERLEAVE_UPPER(a, b) SHUFFLE(a, b, 2, 10, 3, 11, 6, 14, 7, 15)
#define LOWER_HALVES(a, b)     SHUFFLE(a, b, 0, 1, 2, 3, 8, 9, 10, 11)
#define UPPER_HALVES(a, b)     SHUFFLE(a, b, 4, 5, 6, 7, 12, 13, 14, 15)
#elif VECTOR_BYTES == 32
#define INTERLEAVE_LOWER(a, b) SHUFFLE(a, b, 0, 4, 2, 6)
#define INTERLEAVE_UPPER(a, b) SHUFFLE(a, b, 1, 5, 3, 7)
#define LOWER_HALVES(a, b)     SHUFFLE(a, b, 0, 1, 4, 5)
#define UPPER_HALVES(a, b)     SHUFFLE(a, b, 2, 3, 6, 7)
#elif LANES == 8
#define INTERLEAVE_LOWER(a, b) SHUFFLE(a, b, 0, 8, 1, 9, 2, 10, 3, 11)
#define INTERLEAVE_UPPER(a, b) SHUFFLE(a, b, 4, 12, 5, 13, 6, 14, 7, 15)
#elif LANES == 4
#define INTERLEAVE_LOWER(a, b) SHUFFLE(a, b, 0, 4, 1, 5)
#define INTERLEAVE_UPPER(a, b) SHUFFLE(a, b, 2, 6, 3, 7)
#else
#define INTERLEAVE_LOWER(a, b) SHUFFLE(a, b, 0, 2)
#define INTERLEAVE_UPPER(a, b) SHUFFLE(a, b, 1, 3)
#endif
#ifndef LOWER_HALVES
#define LOWER_HALVES INTERLEAVE_LOWER
#define UPPER_HALVES INTERLEAVE_UPPER
#endif

/* Transposes a square of LANES vectors by perfect shuffles. Each round interleaves vector i with vector i
 * + LANES/2 into vectors 2i and 2i + 1; this rotates the bits of every element's address, row and column
 * together, by one. After log₂(LANES) rounds row and column have changed places. (In vectors of two halves
 * the first round moves the halves, and the others leave them in place.) */
static inline void vector_transpose(Vector row[LANES]) {
#pragma GCC unroll 4
    for (int size = 1; size < LANES; size *= 2) {
        Vector next[LANES];
#pragma GCC unroll 16
        for (int i = 0; i < LANES / 2; i++) {
            Vector a = row[i], b = row[i + LANES / 2];
            next[2 * i] = size == 1 ? LOWER_HALVES(a, b) : INTERLEAVE_LOWER(a, b);
            next[2 * i + 1] = size == 1 ? UPPER_HALVES(a, b) : INTERLEAVE_UPPER(a, b);
        }
#pragma GCC unroll 16
        for (int i = 0; i < LANES; i++) row[i] = next[i];
    }
}

#endif
