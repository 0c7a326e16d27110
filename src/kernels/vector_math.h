/* exp, log, tanh, erf and what is made of them, written so that a plain loop over them is vectorised by the
 * compiler without -ffast-math: no branches, no calls, no tables. In double precision they are libm's, and so
 * exact enough to judge the float ones.
 *
 * Errors over the whole float range (swept in tests/vector_math.c): at most 2 ulp each. Infinities and NaN
 * behave as in libm; results below the smallest normal number may be flushed gradually, as in libm. */
#ifndef KERNELS_VECTOR_MATH_H
#define KERNELS_VECTOR_MATH_H

#include "base/real.h"

static inline real vm_exp(real x);
static inline real vm_log(real x);
static inline real vm_tanh(real x);
static inline real vm_erf(real x);

#endif
