/* The peak rate of multiply-adds of one thread: the yardstick for every other rate. */
#ifndef BENCH_PEAK_H
#define BENCH_PEAK_H

/* GFLOP/s of independent multiply-adds on registers. The first call measures it, for at most `seconds` and
 * 0.2 s. */
double bench_peak_gflops(double seconds);

#endif
