/* The functions of random.h that are not inline. */
#include "base/random.h"
#include <math.h>

/* One step of SplitMix64 (Steele, Lea, Flood, "Fast Splittable Pseudorandom Number Generators", 2014) from
 * the state x: a bijection of 64 bits. */
static uint64_t split_mix(uint64_t x) {
    x += 0x9E3779B97F4A7C15;
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9;
    x = (x ^ x >> 27) * 0x94D049BB133111EB;
    return x ^ x >> 31;
}

uint64_t random_key(uint64_t seed, uint64_t stream) {
    /* Mixed twice, so that (seed + 1, stream) and (seed, stream + 1) differ. */
    return split_mix(split_mix(seed) ^ stream) | 1;
}

double random_normal(uint64_t key, uint64_t position) {
    const double pi = 3.14159265358979323846;
    double u = (random_bits(key, 2 * position) + 1.0) * 0x1p-32; /* (0, 1]: its logarithm is finite */
    double v = random_bits(key, 2 * position + 1) * 0x1p-32;
    return sqrt(-2 * log(u)) * cos(2 * pi * v);
}
