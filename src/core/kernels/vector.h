/* The vector of the machine: the widest of the compilation's target, as a GNU vector type, so that
 * the compiler turns `c += a * b` into a fused multiply-add. */
#pragma once

#include "base/real.h"
#include <stdbool.h>

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
typedef Vector VectorInMemory __attribute__((aligned(sizeof(real)))) __attribute__((may_alias));

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

/* f(0), f(1), … for every lane. */
#if LANES == 16
#define LANES_OF(f)                                                                                \
    f(0), f(1), f(2), f(3), f(4), f(5), f(6), f(7), f(8), f(9), f(10), f(11), f(12), f(13), f(14), \
        f(15)
#elif LANES == 8
#define LANES_OF(f) f(0), f(1), f(2), f(3), f(4), f(5), f(6), f(7)
#elif LANES == 4
#define LANES_OF(f) f(0), f(1), f(2), f(3)
#else
#define LANES_OF(f) f(0), f(1)
#endif
#define SELF(l)      l
#define LANE_NUMBERS ((VectorMask){LANES_OF(SELF)})

/* Lane l of the result is lane from(l) of a, or lane from(l) - LANES of b. */
#ifdef __clang__
#define SHUFFLE(a, b, from) __builtin_shufflevector(a, b, LANES_OF(from))
#else
#define SHUFFLE(a, b, from) __builtin_shuffle(a, b, (VectorMask){LANES_OF(from)})
#endif

/* The first `count` lanes; none where count is negative. */
static inline VectorMask vector_first(long count) {
    return LANE_NUMBERS < (LaneNumber)count;
}

/* Lane l of the result is lane l + by of v, modulo LANES; by is 8, 4 or 2. */
#define LANE_8_ON(l) (((l) + 8) % LANES)
#define LANE_4_ON(l) (((l) + 4) % LANES)
#define LANE_2_ON(l) (((l) + 2) % LANES)
static inline Vector vector_rotate(Vector v, int by) {
    if (by == 8) return SHUFFLE(v, v, LANE_8_ON);
    return by == 4 ? SHUFFLE(v, v, LANE_4_ON) : SHUFFLE(v, v, LANE_2_ON);
}

/* The built-in functions of GCC and Clang behind _mm512_maskz_loadu_ps and its kind: <immintrin.h>
 * itself would take a fifth of the time to build. */
#if defined __AVX512F__ && defined REAL_DOUBLE
#define LOAD_LANES(x, count)                                                                       \
    __builtin_ia32_loadupd512_mask(x, (Vector){0}, (unsigned char)((1u << (count)) - 1))
#define STORE_LANES(x, v, count)                                                                   \
    __builtin_ia32_storeupd512_mask(x, v, (unsigned char)((1u << (count)) - 1))
#elif defined __AVX512F__
#define LOAD_LANES(x, count)                                                                       \
    __builtin_ia32_loadups512_mask(x, (Vector){0}, (unsigned short)((1u << (count)) - 1))
#define STORE_LANES(x, v, count)                                                                   \
    __builtin_ia32_storeups512_mask(x, v, (unsigned short)((1u << (count)) - 1))
#elif defined __AVX__ && defined REAL_DOUBLE
#define LOAD_LANES(x, count) __builtin_ia32_maskloadpd256((const Vector *)(x), vector_first(count))
#elif defined __AVX__
#define LOAD_LANES(x, count) __builtin_ia32_maskloadps256((const Vector *)(x), vector_first(count))
#endif

/* Loads the first `count` lanes, 0 < count <= LANES, without touching memory after them; the other
 * lanes are 0. */
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

/* Stores the first `count` lanes. A whole vector is stored without a mask: a load after a masked
 * store has to wait. */
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

/* For SHUFFLE: a₀ b₀ a₁ b₁ … of the lower halves of a and b, or of the upper halves. Vectors of 32
 * bytes have two parts, each interleaved by itself; LOWER_PARTS and UPPER_PARTS are a's and b's
 * lower parts, or upper parts. */
#define PART            (VECTOR_BYTES == 32 ? LANES / 2 : LANES)
#define LOWER_HALVES(l) ((l) / PART * PART + (l) % PART / 2 + (l) % 2 * LANES)
#define UPPER_HALVES(l) (LOWER_HALVES(l) + PART / 2)
#define LOWER_PARTS(l)  ((l) % PART + (l) / PART * LANES)
#define UPPER_PARTS(l)  (LOWER_PARTS(l) + PART)

/* Transposes a square of LANES vectors by perfect shuffles. Each round interleaves vector i with
 * vector i + LANES/2 into vectors 2i and 2i + 1; this rotates the bits of every element's address,
 * row and column together, by one. After log₂(LANES) rounds row and column have changed places. (In
 * vectors of two halves the first round moves the halves, and the others leave them in place.) */
static inline void vector_transpose(Vector row[LANES]) {
#pragma GCC unroll 4
    for (int size = 1; size < LANES; size *= 2) {
        Vector next[LANES];
#pragma GCC unroll 16
        for (int i = 0; i < LANES / 2; i++) {
            Vector a = row[i], b = row[i + LANES / 2];
            bool parts = size == 1 && PART < LANES;
            next[2 * i] = parts ? SHUFFLE(a, b, LOWER_PARTS) : SHUFFLE(a, b, LOWER_HALVES);
            next[2 * i + 1] = parts ? SHUFFLE(a, b, UPPER_PARTS) : SHUFFLE(a, b, UPPER_HALVES);
        }
#pragma GCC unroll 16
        for (int i = 0; i < LANES; i++) row[i] = next[i];
    }
}
