#include "bench/peak.h"
#include "base/clock.h"
#include "kernels/vector.h"

/* Enough accumulators to hide the latency of a multiply-add on two units, and few enough that they, the factor and the
 * term fit into 16 registers. */
enum { CHAINS = 12, ROUNDS = 1 << 20 };

static volatile real sink; /* keeps the loop from being optimised away */

static double run(void) {
    Vector sum[CHAINS];
    Vector factor = {0}, term = {0};
    factor += (real)0.999, term += (real)0.001;
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
    double best = 0, end = clock_seconds() + seconds;
    do {
        double rate = run();
        if (rate > best) best = rate;
    } while (clock_seconds() < end);
    return best;
}
