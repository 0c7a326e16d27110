#include "kernels/peak.h"
#include "base/real.h"
#include <time.h>

/* Enough accumulators to hide the latency of a multiply-add on two units: 14 of the widest vectors. */
enum { VECTOR_BYTES = 64, LANES = VECTOR_BYTES / sizeof(real), CHAINS = 14, ROUNDS = 1 << 20 };
typedef real Vector __attribute__((vector_size(VECTOR_BYTES)));

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static volatile real sink; /* keeps the loop from being optimised away */

static double run(void) {
    Vector sum[CHAINS];
    Vector factor = {0}, term = {0};
    factor += (real)0.999, term += (real)0.001;
    for (int i = 0; i < CHAINS; i++) sum[i] = term * (real)i;
    double start = now();
    for (long round = 0; round < ROUNDS; round++) {
#pragma GCC unroll 14
        for (int i = 0; i < CHAINS; i++) sum[i] = sum[i] * factor + term;
    }
    double seconds = now() - start;
    for (int i = 0; i < CHAINS; i++) sink = sum[i][0];
    return 2.0 * LANES * CHAINS * ROUNDS / seconds * 1e-9;
}

double peak_gflops(double seconds) {
    double best = 0, end = now() + seconds;
    do {
        double rate = run();
        if (rate > best) best = rate;
    } while (now() < end);
    return best;
}
