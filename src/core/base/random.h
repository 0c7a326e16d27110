/* Random numbers as a pure function of (seed, stream, position). There is no hidden state: a draw
 * can be repeated, and its value does not depend on order or threads.
 *
 * The function is Widynski's "Squares: A Fast Counter-Based RNG" (arXiv:2004.06278), with a key
 * mixed from seed and stream by SplitMix64. */
#pragma once

#include "base/real.h"
#include <math.h>
#include <stdint.h>

/* One step of SplitMix64 (Steele, Lea, Flood, "Fast Splittable Pseudorandom Number Generators",
 * 2014) from the state x: a bijection of 64 bits. */
static inline uint64_t random_mix(uint64_t x) {
    x += 0x9E3779B97F4A7C15;
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9;
    x = (x ^ x >> 27) * 0x94D049BB133111EB;
    return x ^ x >> 31;
}

/* A key for one stream of numbers: seed is the user's, stream says what the numbers are for. Always
 * odd. Mixed twice, so that (seed + 1, stream) and (seed, stream + 1) differ. */
static inline uint64_t random_key(uint64_t seed, uint64_t stream) {
    return random_mix(random_mix(seed) ^ stream) | 1;
}

/* 32 random bits: the position-th number of the key's stream. */
static inline uint32_t random_bits(uint64_t key, uint64_t position) {
    uint64_t x = position * key, y = x, z = y + key;
    x = x * x + y;
    x = (x >> 32) | (x << 32);
    x = x * x + z;
    x = (x >> 32) | (x << 32);
    x = x * x + y;
    x = (x >> 32) | (x << 32);
    return (uint32_t)((x * x + z) >> 32);
}

/* Uniform in [0, 1), a multiple of 2⁻²⁴: exact in float, so both precisions draw the same number.
 */
static inline real random_uniform(uint64_t key, uint64_t position) {
    return (real)(random_bits(key, position) >> 8) * (real)0x1p-24;
}

/* Standard normal, by the Box–Muller transform; uses positions 2i and 2i+1 of the stream. */
static inline double random_normal(uint64_t key, uint64_t position) {
    const double pi = 3.14159265358979323846;
    double u =
        (random_bits(key, 2 * position) + 1.0) * 0x1p-32; /* (0, 1]: its logarithm is finite */
    double v = random_bits(key, 2 * position + 1) * 0x1p-32;
    return sqrt(-2 * log(u)) * cos(2 * pi * v);
}

/* Uniform in [0, n), n > 0; the bias is negligible for n far below 2³². */
static inline long random_below(uint64_t key, uint64_t position, long n) {
    return (long)(((uint64_t)random_bits(key, position) * (uint64_t)n) >> 32);
}

/* All streams of a user's seed. Parameter i of a model has stream STREAM_WEIGHTS + i. No two
 * streams are equal in a model of at most 0x5E00 parameters: 800 layers of encoder and decoder each
 * have 24,000. */
enum {
    STREAM_WEIGHTS = 0,
    STREAM_SPLIT = 0x5E01, /* whether a sequence is held out */
    STREAM_TRAINING,
    STREAM_HELD_OUT,
    STREAM_ORDER,            /* of held-out sequences */
    STREAM_WINDOWS = 0x5E11, /* of a text */
    STREAM_DROPOUT = 0x5E21,
    STREAM_SAMPLES = 0x5E31,    /* of decoding */
    STREAM_BATCH = 0x5E41,      /* for a gradient check, */
    STREAM_DISTURBANCE,         /* and the changes of its weights */
    STREAM_EXPERIMENT = 0x5F000 /* and all above: the experiments of ./explain */
};
