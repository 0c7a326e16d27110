/* The most multiply-adds that one thread of this machine can do: the yardstick for every other rate. */
#ifndef BENCH_PEAK_H
#define BENCH_PEAK_H

/* GFLOP/s of independent multiply-adds on registers alone, the best of runs that take about `seconds`
 * together. */
double bench_peak_gflops(double seconds);

#endif
