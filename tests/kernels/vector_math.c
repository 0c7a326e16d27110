/* exp, log, tanh, gelu and its derivative over the whole range of `real`, compared with libm in the
 * next wider type. A run tries every 251st float, or a million numbers spread over the bit patterns
 * of doubles; VECTOR_MATH_STRIDE=1 in the environment tries every float (about four minutes a
 * function). */
#include "kernels/vector_math.h"
#include "base/pool.h"
#include "test.h"
#include <pthread.h>
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
    Wide
        floor; /* the error is counted in ulps of the wanted value, or of this if that is smaller */

    long count; /* numbers tried */
    double worst;
    real worst_at;
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
static Sweep sweeps[] = {
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

enum { CHUNKS = 1 << 12, ROW = 1024 };

typedef struct Work {
    Sweep *sweep;
    uint64_t stride;
    pthread_mutex_t mutex;
} Work;

static void take(Sweep *s, long count, double worst, real at) {
    Bits a, b;
    memcpy(&a, &at, sizeof a);
    memcpy(&b, &s->worst_at, sizeof b);
    s->count += count;
    if (worst < s->worst || (worst == s->worst && (worst == 0 || a >= b))) return;
    s->worst = worst;
    s->worst_at = at;
}

static void sweep_chunk(void *context, long chunk) {
    Work *w = context;
    const Sweep *s = w->sweep;
    const uint64_t span = ((uint64_t)1 << (8 * sizeof(Bits) - 12)), first = span * (uint64_t)chunk;
    real x[ROW], y[ROW], at = 0;
    double worst = 0;
    long count = 0;
    for (uint64_t offset = (uint64_t)chunk * 7919 % w->stride; offset < span;) {
        int n = 0;
        while (n < ROW && offset < span) {
            Bits bits = (Bits)(first + offset);
            memcpy(&x[n++], &bits, sizeof bits);
            offset += w->stride;
        }
        s->row(y, x, n);
        count += n;
        for (int i = 0; i < n; i++) {
            double error = error_in_ulps(y[i], s->want((Wide)x[i]), s->floor);
            if (error > worst) {
                worst = error;
                at = x[i];
            }
        }
    }
    pthread_mutex_lock(&w->mutex);
    take(w->sweep, count, worst, at);
    pthread_mutex_unlock(&w->mutex);
}

static void sweep(Sweep *s, long every) {
    Work w = {s, (uint64_t)every, PTHREAD_MUTEX_INITIALIZER};
    if (sizeof(real) == sizeof(double)) w.stride = (w.stride << 36) + 1;
    s->count = 0;
    s->worst = 0;
    s->worst_at = 0;
    pool_for(CHUNKS, sweep_chunk, &w);
}

TEST(functions_are_accurate) {
    alarm(7200); /* VECTOR_MATH_STRIDE=1 tries every float */
    const char *stride = getenv("VECTOR_MATH_STRIDE");
    long every = stride ? strtol(stride, NULL, 10) : 251;
    for (size_t i = 0; i < sizeof sweeps / sizeof *sweeps; i++) {
        Sweep *s = &sweeps[i];
        sweep(s, every > 0 ? every : 1);
        if (stride) printf("  %s: %.4f ulp at %a\n", s->name, s->worst, (double)s->worst_at);
        CHECK(s->worst <= s->limit, "%s: %.4f ulp at %a", s->name, s->worst, (double)s->worst_at);
        CHECK(s->count > 1 << 19, "%s: %ld numbers", s->name, s->count);
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
