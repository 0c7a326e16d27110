/* exp, log, tanh, erf and gelu over the whole range of `real`, judged by libm in the next wider type. */
#ifndef GRADING_ULP_SWEEP_H
#define GRADING_ULP_SWEEP_H

#include "base/real.h"
#include <stdint.h>

#ifdef REAL_DOUBLE
typedef long double Wide;
#else
typedef double Wide;
#endif

typedef struct UlpSweep {
    const char *name;
    void (*row)(real *y, const real *x,
                long n); /* a loop that the compiler vectorises, as the kernels have */
    Wide (*want)(Wide x);
    double limit; /* ulps that it may be off by */
    Wide floor;   /* the error is counted in ulps of the wanted value, or of this if that is smaller */

    /* Results. */
    long count; /* numbers looked at */
    double worst;
    real worst_at;
} UlpSweep;

enum { ULP_SWEEPS = 6 };
extern const UlpSweep ulp_sweeps[ULP_SWEEPS];

/* Looks at every `every`-th bit pattern (of doubles, every 2^36 times that), infinities and NaN among
 * them. Every single float takes minutes. */
void ulp_sweep(UlpSweep *s, long every);

#endif
