/* exp, log, tanh, gelu and its derivative over the whole range of `real`, compared with libm in the
 * next wider type. A run tries every 1,009th float, or a million numbers spread over the bit
 * patterns of doubles; VECTOR_MATH_STRIDE=1 in the environment tries every float (about ten minutes
 * a function). */
#include "kernels/vector_math.h"
#include "test.h"
#include <stdint.h>

#ifdef REAL_DOUBLE
typedef long double Wide;
typedef uint64_t Bits;
#define WIDE(f) f##l
enum { MIN_EXPONENT = -1074, DIGITS = 53 };
#else
typedef double Wide;
typedef uint32_t Bits;
#define WIDE(f) f
enum { MIN_EXPONENT = -149, DIGITS = 24 };
#endif

typedef struct Sweep {
    const char *name;
    void (*row)(real *y, const real *x,
                long n); /* a loop that the compiler vectorises, as in the kernels */
    Wide (*want)(Wide x);
    double limit; /* of the error in ulps */
    Wide floor; /* errors are counted in ulps of the wanted value, or of this if that is smaller */
} Sweep;

static const Wide inv_sqrt_2 = (Wide)0.707106781186547524400844362104849039L;
static const Wide inv_sqrt_2pi = (Wide)0.398942280401432677939946059934381868L;

/* The kernel in a loop that the compiler vectorises, and what it should give for x. */
#define FUNCTION(name, wanted)                                                                     \
    static void name##_row(real *y, const real *x, long n) {                                       \
        for (long i = 0; i < n; i++) y[i] = vm_##name(x[i]);                                       \
    }                                                                                              \
    static Wide want_##name(Wide x) {                                                              \
        return wanted;                                                                             \
    }
FUNCTION(exp, WIDE(exp)(x))
FUNCTION(log, WIDE(log)(x))
FUNCTION(tanh, WIDE(tanh)(x))
FUNCTION(gelu, x *(WIDE(erfc)(-x *inv_sqrt_2) / 2))
FUNCTION(gelu_grad, WIDE(erfc)(-x *inv_sqrt_2) / 2 + x * inv_sqrt_2pi * WIDE(exp)(-x * x / 2))

/* The lower tail of gelu keeps its relative accuracy as long as Φ is a normal number. Without a
 * fused multiply-add the rounding error of x² counts there x²/2 times; so does that of x/√2 in the
 * erfc of the double version. */
#define SMALLEST (sizeof(real) == sizeof(float) ? FLT_MIN : DBL_MIN)
#if defined REAL_DOUBLE
#define GELU_LIMIT 1500
#elif defined VM_FMA
#define GELU_LIMIT 9
#else
#define GELU_LIMIT 80
#endif

/* Near -0.75 the two terms of gelu's derivative cancel: small values are judged by the size of the
 * terms. */
static const Sweep sweeps[] = {
    {"exp", exp_row, want_exp, 1.1},
    {"log", log_row, want_log, 1.1},
    {"tanh", tanh_row, want_tanh, 2},
    {"gelu", gelu_row, want_gelu, GELU_LIMIT, 16 * (Wide)SMALLEST},
    {"gelu_grad", gelu_grad_row, want_gelu_grad, 4, (Wide)0.25},
};

static double error_in_ulps(real found, Wide want, Wide floor) {
    if (found != found || want != want) return (found != found) == (want != want) ? 0 : INFINITY;
    real rounded = (real)want;
    if (isinf(found) || isinf(rounded)) {
        if (found == rounded) return 0;
        /* One of them overflows: near the limit that is an error of an ulp. */
        Wide largest = REAL_MAX * (1 + (Wide)REAL_EPSILON);
        if (isinf(found) && (found > 0 ? want < REAL_MAX : want > -REAL_MAX)) return INFINITY;
        if (isinf(rounded) && (want > 0 ? want > largest : want < -largest)) return INFINITY;
        return 1;
    }
    if (found == 0 && rounded == 0 && want == 0 && !signbit(found) != !signbit(want))
        return INFINITY;
    int exponent;
    Wide size = WIDE(fabs)(want);
    (void)WIDE(frexp)(size > floor ? size : floor, &exponent);
    exponent = exponent - DIGITS < MIN_EXPONENT ? MIN_EXPONENT : exponent - DIGITS;
    return (double)WIDE(fabs)(WIDE(ldexp)((Wide)found - want, -exponent));
}

/* The largest error over every `stride`-th bit pattern, and where it is. */
static double sweep(const Sweep *s, uint64_t stride, real *at) {
    enum { ROW = 1024 };
    real x[ROW], y[ROW];
    double worst = 0;
    uint64_t end = (uint64_t)(Bits)-1, bits = 0;
    while (bits <= end) {
        int n = 0;
        while (n < ROW && bits <= end) {
            Bits pattern = (Bits)bits;
            memcpy(&x[n++], &pattern, sizeof pattern);
            if (bits > end - stride) end = 0; /* the last */
            bits += stride;
        }
        s->row(y, x, n);
        for (int i = 0; i < n; i++) {
            double error = error_in_ulps(y[i], s->want((Wide)x[i]), s->floor);
            if (error <= worst) continue;
            worst = error;
            *at = x[i];
        }
    }
    return worst;
}

TEST(functions_are_accurate) {
    alarm(7200); /* VECTOR_MATH_STRIDE=1 tries every float */
    const char *every = getenv("VECTOR_MATH_STRIDE");
    uint64_t stride = every ? strtoul(every, NULL, 10) : 1009;
    if (sizeof(real) == sizeof(double)) stride = (stride << 34) + 1;
    for (size_t i = 0; i < sizeof sweeps / sizeof *sweeps; i++) {
        real at = 0;
        double worst = sweep(&sweeps[i], stride, &at);
        if (every) printf("  %s: %.4f ulp at %a\n", sweeps[i].name, worst, (double)at);
        CHECK(worst <= sweeps[i].limit, "%s: %.4f ulp at %a", sweeps[i].name, worst, (double)at);
    }
}

TEST(special_values_are_those_of_libm) {
    CHECK(vm_exp(0) == 1 && vm_exp(-(real)INFINITY) == 0 && vm_exp((real)INFINITY) == INFINITY);
    CHECK(vm_log(1) == 0 && vm_log(0) == -INFINITY && vm_log(-(real)0.0) == -INFINITY);
    CHECK(vm_log((real)INFINITY) == INFINITY && isnan(vm_log(-1)) &&
          isnan(vm_log(-(real)INFINITY)));
    CHECK(vm_tanh((real)INFINITY) == 1 && vm_tanh(-(real)INFINITY) == -1 &&
          signbit(vm_tanh(-(real)0.0)));
    CHECK(vm_gelu((real)INFINITY) == INFINITY && vm_gelu(0) == 0 && vm_gelu_grad(0) == (real)0.5);
    real nan = (real)NAN;
    CHECK(isnan(vm_exp(nan)) && isnan(vm_log(nan)) && isnan(vm_tanh(nan)));
    CHECK(isnan(vm_gelu(nan)) && isnan(vm_gelu_grad(nan)));
}

RUN_TESTS
