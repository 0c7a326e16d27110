/* exp, log, tanh, erf and what is made of them, written so that a plain loop over them is vectorised by the
 * compiler without -ffast-math: no branches, no calls, no tables. In double precision they are libm's, and so
 * exact enough to judge the float ones.
 *
 * Errors over the whole float range (swept in tests/vector_math.c): at most 2 ulp each. Infinities and NaN
 * behave as in libm; results below the smallest normal number may be flushed gradually, as in libm. */
#ifndef KERNELS_VECTOR_MATH_H
#define KERNELS_VECTOR_MATH_H

#include "base/real.h"
#include <tgmath.h>

static inline real vm_exp(real x) {
    return exp(x);
}

static inline real vm_log(real x) {
    return log(x);
}

static inline real vm_tanh(real x) {
    return tanh(x);
}

static inline real vm_erf(real x) {
    return erf(x);
}

/* gelu(x) = x·Φ(x), Φ the normal distribution function: x/2·(1 + erf(x/√2)). */
static inline real vm_gelu(real x) {
    return x * (real)0.5 * erfc(x * -(real)0.70710678118654752440);
}

/* gelu'(x) = Φ(x) + x·φ(x), φ the normal density. */
static inline real vm_gelu_grad(real x) {
    real phi = (real)0.39894228040143267794 * exp(-(real)0.5 * x * x);
    return (real)0.5 * erfc(x * -(real)0.70710678118654752440) + x * phi;
}

#endif
