/* The peak rate of multiply-adds: the yardstick for every other rate. */
#include "base/clock.h"
#include "bench/bench.h"
#include "kernels/vector.h"
#include <math.h>

/* Enough accumulators to hide the latency of a multiply-add on two units; with factor and term they
 * fit into 16 registers. */
enum { CHAINS = 12, ROUNDS = 1 << 20 };

static volatile real sink; /* keeps the loop from being optimised away */

static double run(void) {
    Vector sum[CHAINS];
    Vector factor = {0}, term = {0};
    factor += (real)0.999;
    term += (real)0.001;
    for (int i = 0; i < CHAINS; i++) sum[i] = term * (real)i;
    double start = clock_seconds();
    for (long round = 0; round < ROUNDS; round++) {
#pragma GCC unroll 12
        for (int i = 0; i < CHAINS; i++) sum[i] = sum[i] * factor + term;
    }
    double seconds = clock_seconds() - start;
    for (int i = 0; i < CHAINS; i++) sink = sum[i][0];
    return 2.0 * LANES * CHAINS * ROUNDS / seconds * 1e-9;
}

double bench_peak_gflops(double seconds) {
    static double best;
    if (best > 0) return best;
    double end = clock_seconds() + fmin(0.2, seconds);
    do best = fmax(best, run());
    while (clock_seconds() < end);
    return best;
}
