/* exp, log, tanh and gelu without branches, calls or tables, so that the compiler vectorises a
 * plain loop over them without -ffast-math. In double precision they are libm's, which the tests
 * use to judge the float ones.
 *
 * Errors over the whole float range, measured over every float by tests/kernels/vector_math.c: exp
 * 1.02 ulp, log 0.76, tanh 1.81. Infinities, NaN and signed zeros behave as in libm; results below
 * the smallest normal number lose precision gradually, as in libm. The coefficients are minimax
 * fits: rounded to float one at a time, with the others fitted again after each. */
#pragma once

#include "base/real.h"
#include <stdint.h>
#include <tgmath.h>

#if defined __FINITE_MATH_ONLY__ && __FINITE_MATH_ONLY__
#error "infinities and NaN have a meaning: build without -ffast-math, -Ofast, -ffinite-math-only"
#endif

/* vm_gelu(x) = x·Φ(x) and vm_gelu_grad(x) = Φ(x) + x·φ(x), where Φ is the normal distribution
 * function and φ its density. Φ keeps its relative accuracy in the lower tail. vm_sigmoid is the
 * logistic function σ(x) = 1 / (1 + e^-x), vm_silu(x) = x·σ(x) and vm_silu_grad(x) = σ(x) +
 * x·σ(x)·(1 - σ(x)). */

#define VM_INV_SQRT_2   ((real)0.70710678118654752440)
#define VM_INV_SQRT_2PI ((real)0.39894228040143267794)

/* The processor multiplies and adds in one step (clang does not say so by FP_FAST_FMAF). */
#if defined FP_FAST_FMAF || defined __FMA__ || defined __ARM_FEATURE_FMA
#define VM_FMA 1
#endif

#ifdef REAL_DOUBLE

#define vm_exp  exp
#define vm_log  log
#define vm_tanh tanh

static inline double vm_gelu(double x) {
    return x * 0.5 * erfc(-VM_INV_SQRT_2 * x);
}

static inline double vm_gelu_grad(double x) {
    return 0.5 * erfc(-VM_INV_SQRT_2 * x) + x * VM_INV_SQRT_2PI * exp(-0.5 * x * x);
}

#else

typedef union VmBits {
    float value;
    uint32_t bits;
} VmBits;

/* 2ⁿ for n in [-126, 127]. */
static inline float vm_pow2(int32_t n) {
    return (VmBits){.bits = (uint32_t)(n + 127) << 23}.value;
}

/* x = n·ln 2 + f with |f| <= ln 2 / 2, and expm1 = e^f - 1. Needs |x| < 2²¹.
 * Adding 1.5·2²³ rounds x/ln 2 to an integer, which then stands in the low bits of the sum. ln 2 is
 * the sum of two floats; n times the first, of 15 bits, is exact. */
typedef struct VmReduced {
    int32_t n;
    float expm1;
} VmReduced;

static inline VmReduced vm_reduce(float x) {
    const float round = 0x1.8p23f;
    float shifted = x * 0x1.715476p0f + round;
    float n = shifted - round;
    float f = (x - n * 0x1.62e4p-1f) - n * 0x1.7f7d1cp-20f;
    float q = 0x1.6a4002p-10f;
    q = q * f + 0x1.1239ecp-7f;
    q = q * f + 0x1.5558bep-5f;
    q = q * f + 0x1.555492p-3f;
    q = q * f + 0x1.fffffcp-2f;
    return (VmReduced){(int32_t)((VmBits){shifted}.bits - 0x4b400000u), f + f * f * q};
}

/* e^x = 2ⁿ·(1 + expm1) for x in [-105, 89]. The power is applied in two factors, because 2ⁿ alone
 * may overflow or be subnormal. */
static inline float vm_exp_within(float x) {
    VmReduced r = vm_reduce(x);
    int32_t half = r.n >> 1;
    float scale = vm_pow2(half);
    return (scale + scale * r.expm1) * vm_pow2(r.n - half);
}

/* Beyond these bounds the result is infinite or 0; a NaN passes both. */
static inline float vm_exp(float x) {
    x = x > 89.0f ? 89.0f : x;
    x = x < -105.0f ? -105.0f : x;
    return vm_exp_within(x);
}

/* x = 2ᵏ·(1 + f) with 1 + f in [√½, √2]. With s = f / (2 + f), log(1 + f) = 2·artanh(s) = f - s·(f
 * - R(s²)), where R(z) = 2z/3 + 2z²/5 + …: the large term f is exact. */
static inline float vm_log(float x) {
    int subnormal = x < FLT_MIN;
    uint32_t bits = (VmBits){subnormal ? x * 0x1p23f : x}.bits - 0x3f3504f3u; /* the bits of √½ */
    int32_t exponent = (int32_t)bits >> 23;
    float f = (VmBits){.bits = (bits & 0x7fffffu) + 0x3f3504f3u}.value - 1.0f;
    float k = (float)(exponent - (subnormal ? 23 : 0));
    float s = f / (2.0f + f), z = s * s;
    float r = 0x1.31e036p-2f;
    r = r * z + 0x1.995ed8p-2f;
    r = r * z + 0x1.55557ap-1f;
    float half_square = 0.5f * f * f;
    float log1p = f - (half_square - (s * (half_square + r * z) + k * 0x1.7f7d1cp-20f));
    float y = k * 0x1.62e4p-1f + log1p;
    y = x < INFINITY ? y : x; /* +infinity and NaN */
    y = x < 0.0f ? NAN : y;
    return x == 0.0f ? -INFINITY : y;
}

/* Odd; for x >= 0, with m = e^2x - 1, tanh x = m / (m + 2). The quotient has a rounding error, so
 * it enters only as a small correction: m/2 - m/2 · m/(m + 2) for small x, 1 - 2/(m + 2) for large
 * x. */
static inline float vm_tanh(float x) {
    float a = fabsf(x);
    a = a > 9.5f ? 9.5f : a;
    VmReduced r = vm_reduce(2.0f * a);
    float scale = vm_pow2(r.n);
    float m = scale * r.expm1 + (scale - 1.0f);
    float start = a < 0.55f ? 0.5f * m : 1.0f;
    float quotient = (a < 0.55f ? m : 2.0f) / (m + 2.0f);
    return copysignf(start - start * quotient, x);
}

/* The upper tail of the normal distribution from t >= 0 on, and its density without the constant,
 * e^(-t²/2). The tail is this bell times a smooth function that falls from ½ like 1/(t√2π), here a
 * quotient of polynomials with positive coefficients. The rounding error of t² would be multiplied
 * by t²/2, so it is computed and taken out again. */
typedef struct VmNormal {
    float tail, bell;
} VmNormal;

static inline VmNormal vm_normal(float t) {
    t = t > 14.6f ? 14.6f : t; /* where both are 0; a NaN passes */
    float square = t * t, bell = vm_exp_within(-0.5f * square);
#ifdef VM_FMA
    bell -= bell * 0.5f * fmaf(t, t, -square);
#endif
    float p = 0x1.0ab2e4p-8f, q = 0x1.4e40d6p-7f;
    q = q * t + 0x1.9e2accp-4f;
    q = q * t + 0x1.de6c6ap-2f;
    q = q * t + 0x1.32f398p+0f;
    q = q * t + 0x1.ac191cp+0f;
    q = q * t + 1.0f;
    p = p * t + 0x1.4a6f8cp-5f;
    p = p * t + 0x1.7584c0p-3f;
    p = p * t + 0x1.bfaddcp-2f;
    p = p * t + 0.5f;
    return (VmNormal){bell * (p / q), bell};
}

static inline float vm_gelu(float x) {
    float tail = vm_normal(fabsf(x)).tail;
    return x * (x < 0 ? tail : 1.0f - tail);
}

static inline float vm_gelu_grad(float x) {
    VmNormal n = vm_normal(fabsf(x));
    return (x < 0 ? n.tail : 1.0f - n.tail) + x * VM_INV_SQRT_2PI * n.bell;
}

#endif

/* For x < 0 the fraction is expanded by e^x: the exponential never overflows, and a small result
 * keeps its digits. */
static inline real vm_sigmoid(real x) {
    real e = vm_exp(-fabs(x));
    return (x < 0 ? e : 1) / (1 + e);
}

static inline real vm_silu(real x) {
    return x * vm_sigmoid(x);
}

static inline real vm_silu_grad(real x) {
    real s = vm_sigmoid(x);
    return s + x * s * (1 - s);
}
