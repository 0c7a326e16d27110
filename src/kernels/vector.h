/* The vector of the machine: the widest that the target of the compilation has, in GNU vector types, so that
 * the compiler does the translation and `c += a * b` is its fused multiply-add. */
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

static inline Vector vector_load(const real *x) {
    return *(const VectorInMemory *)x;
}

static inline void vector_store(real *x, Vector v) {
    *(VectorInMemory *)x = v;
}

/* What _mm512_maskz_loadu_ps and its kind stand for in GCC and Clang: <immintrin.h>, read by every file that computes,
 * would be a fifth of the time to build. */
#if defined __AVX512F__ && defined REAL_DOUBLE
#define LOAD_LANES(x, mask)     __builtin_ia32_loadupd512_mask(x, (Vector){0}, (unsigned char)(mask))
#define STORE_LANES(x, v, mask) __builtin_ia32_storeupd512_mask(x, v, (unsigned char)(mask))
#elif defined __AVX512F__
#define LOAD_LANES(x, mask)     __builtin_ia32_loadups512_mask(x, (Vector){0}, (unsigned short)(mask))
#define STORE_LANES(x, v, mask) __builtin_ia32_storeups512_mask(x, v, (unsigned short)(mask))
#endif

/* The first `count` lanes, 0 < count <= LANES; memory beyond them is not touched, the other lanes are 0. */
static inline Vector vector_load_part(const real *x, long count) {
#ifdef LOAD_LANES
    return LOAD_LANES(x, (1u << count) - 1);
#else
    if (count == LANES) return vector_load(x);
    Vector v = {0};
    for (long l = 0; l < count; l++) v[l] = x[l];
    return v;
#endif
}

/* A whole vector is not stored with a mask: what loads it next would have to wait for the store's end. */
static inline void vector_store_part(real *x, Vector v, long count) {
    if (count == LANES) {
        vector_store(x, v);
        return;
    }
#ifdef STORE_LANES
    STORE_LANES(x, v, (1u << count) - 1);
#else
    for (long l = 0; l < count; l++) x[l] = v[l];
#endif
}

#ifdef __clang__
#define SHUFFLE(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#elif defined REAL_DOUBLE
typedef long long VectorMask __attribute__((vector_size(VECTOR_BYTES)));
#define SHUFFLE(a, b, ...) __builtin_shuffle(a, b, (VectorMask){__VA_ARGS__})
#else
typedef int VectorMask __attribute__((vector_size(VECTOR_BYTES)));
#define SHUFFLE(a, b, ...) __builtin_shuffle(a, b, (VectorMask){__VA_ARGS__})
#endif

/* a₀ b₀ a₁ b₁ … of the lower halves of a and b, and of the upper halves. */
#if LANES == 16
#define INTERLEAVE_LOWER(a, b) SHUFFLE(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23)
#define INTERLEAVE_UPPER(a, b) SHUFFLE(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31)
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

/* Transposes a square of LANES vectors by perfect shuffles: each round interleaves vector i with vector
 * i + LANES/2 into vectors 2i and 2i + 1, which turns the bits of every element's address, those of its row
 * and its column together, by one place; after log₂(LANES) rounds row and column have changed places. */
static inline void vector_transpose(Vector row[LANES]) {
#pragma GCC unroll 4
    for (int size = 1; size < LANES; size *= 2) {
        Vector next[LANES];
#pragma GCC unroll 16
        for (int i = 0; i < LANES / 2; i++) {
            next[2 * i] = INTERLEAVE_LOWER(row[i], row[i + LANES / 2]);
            next[2 * i + 1] = INTERLEAVE_UPPER(row[i], row[i + LANES / 2]);
        }
#pragma GCC unroll 16
        for (int i = 0; i < LANES; i++) row[i] = next[i];
    }
}

#endif
