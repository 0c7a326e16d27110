/* exp, log, tanh, erf and gelu over the whole range of floats against libm in the next wider type.
 *
 * A run looks at every 251st float; VECTOR_MATH_STRIDE=1 in the environment makes it every one (about four
 * minutes a function). In double, where the functions are libm's, it looks at a million numbers spread evenly
 * over the bit patterns. */
#include "kernels/vector_math.h"
#include "base/pool.h"
#include "test.h"
#include <pthread.h>

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

static const Wide inv_sqrt_2 = (Wide)0.707106781186547524400844362104849039L;
static const Wide inv_sqrt_2pi = (Wide)0.398942280401432677939946059934381868L;

static Wide want_exp(Wide x) {
    return WIDE(exp)(x);
}

static Wide want_log(Wide x) {
    return WIDE(log)(x);
}

static Wide want_tanh(Wide x) {
    return WIDE(tanh)(x);
}

static Wide want_erf(Wide x) {
    return WIDE(erf)(x);
}

static Wide want_gelu(Wide x) {
    return x * (WIDE(erfc)(-x * inv_sqrt_2) / 2);
}

static Wide want_gelu_grad(Wide x) {
    return WIDE(erfc)(-x * inv_sqrt_2) / 2 + x * inv_sqrt_2pi * WIDE(exp)(-x * x / 2);
}

/* The functions as the project uses them: in loops that the compiler vectorises. */
#define LOOP(name)                                                                                           \
    static void name##_row(real *y, const real *x, long n) {                                                 \
        for (long i = 0; i < n; i++) y[i] = vm_##name(x[i]);                                                 \
    }
LOOP(exp)
LOOP(log)
LOOP(tanh)
LOOP(erf)
LOOP(gelu)
LOOP(gelu_grad)

/* The error is counted in units of the last place of `want`, or of `floor` if that is larger. */
typedef struct Sweep {
    const char *name;
    void (*row)(real *y, const real *x, long n);
    Wide (*want)(Wide x);
    Wide floor;
    uint64_t stride;
    pthread_mutex_t mutex;
    double worst;
    real worst_at;
} Sweep;

static double error_in_ulp(real found, Wide want, Wide floor) {
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
    if (found == 0 && rounded == 0 && want == 0 && !signbit(found) != !signbit(want)) return INFINITY;
    int exponent;
    Wide size = WIDE(fabs)(want);
    (void)WIDE(frexp)(size > floor ? size : floor, &exponent);
    exponent = exponent - DIGITS < MIN_EXPONENT ? MIN_EXPONENT : exponent - DIGITS;
    return (double)WIDE(fabs)(WIDE(ldexp)((Wide)found - want, -exponent));
}

enum { CHUNKS = 1 << 12, ROW = 1024 };

static void sweep_chunk(void *context, long chunk) {
    Sweep *s = context;
    const uint64_t span = ((uint64_t)1 << (8 * sizeof(Bits) - 12)), first = span * (uint64_t)chunk;
    real x[ROW], y[ROW], at = 0;
    double worst = 0;
    for (uint64_t offset = (uint64_t)chunk * 7919 % s->stride; offset < span;) {
        int n = 0;
        for (; n < ROW && offset < span; n++, offset += s->stride) {
            Bits bits = (Bits)(first + offset);
            memcpy(&x[n], &bits, sizeof bits);
        }
        s->row(y, x, n);
        for (int i = 0; i < n; i++) {
            double error = error_in_ulp(y[i], s->want((Wide)x[i]), s->floor);
            if (error > worst) worst = error, at = x[i];
        }
    }
    pthread_mutex_lock(&s->mutex);
    if (worst > s->worst) s->worst = worst, s->worst_at = at;
    pthread_mutex_unlock(&s->mutex);
}

static void sweep(Sweep s, double limit) {
    const char *stride = getenv("VECTOR_MATH_STRIDE");
    s.stride = stride ? strtoull(stride, NULL, 10) : 251;
    if (s.stride < 1) s.stride = 1;
#ifdef REAL_DOUBLE
    s.stride = (s.stride << 36) + 1;
#endif
    pthread_mutex_init(&s.mutex, NULL);
    parallel_for(CHUNKS, sweep_chunk, &s);
    if (stride) printf("  %s: %.4f ulp at %a\n", s.name, s.worst, (double)s.worst_at);
    CHECK(s.worst <= limit, "%s: %.4f ulp at %a", s.name, s.worst, (double)s.worst_at);
}

static void exp_within_its_bound(void) {
    sweep((Sweep){.name = "exp", .row = exp_row, .want = want_exp}, 1.1);
}

static void log_within_its_bound(void) {
    sweep((Sweep){.name = "log", .row = log_row, .want = want_log}, 1.1);
}

static void tanh_within_its_bound(void) {
    sweep((Sweep){.name = "tanh", .row = tanh_row, .want = want_tanh}, 2);
}

static void erf_within_its_bound(void) {
    sweep((Sweep){.name = "erf", .row = erf_row, .want = want_erf}, 1.75);
}

/* The lower tail keeps its relative accuracy as long as Φ is a normal number. Without a fused multiply-add
 * the rounding error of x² counts there x²/2 times; so does that of x/√2 in the erfc of the double version.
 */
static void gelu_within_its_bound(void) {
    Wide floor = 16 * (Wide)(sizeof(real) == sizeof(float) ? FLT_MIN : DBL_MIN);
#if defined REAL_DOUBLE
    double limit = 1500;
#elif defined VM_FMA
    double limit = 9;
#else
    double limit = 80;
#endif
    sweep((Sweep){.name = "gelu", .row = gelu_row, .want = want_gelu, .floor = floor}, limit);
}

/* Near -0.75 the two terms cancel, so small values are judged by the size of the terms. */
static void gelu_grad_within_its_bound(void) {
    sweep((Sweep){.name = "gelu_grad", .row = gelu_grad_row, .want = want_gelu_grad, .floor = (Wide)0.25}, 4);
}

static void special_values_are_those_of_libm(void) {
    CHECK(vm_exp(0) == 1 && vm_exp(-(real)INFINITY) == 0 && vm_exp((real)INFINITY) == INFINITY);
    CHECK(vm_log(1) == 0 && vm_log(0) == -INFINITY && vm_log(-(real)0.0) == -INFINITY);
    CHECK(vm_log((real)INFINITY) == INFINITY && isnan(vm_log(-1)) && isnan(vm_log(-(real)INFINITY)));
    CHECK(vm_tanh((real)INFINITY) == 1 && vm_tanh(-(real)INFINITY) == -1 && signbit(vm_tanh(-(real)0.0)));
    CHECK(vm_erf((real)INFINITY) == 1 && vm_erf(-(real)INFINITY) == -1 && signbit(vm_erf(-(real)0.0)));
    CHECK(vm_gelu((real)INFINITY) == INFINITY && vm_gelu(0) == 0 && vm_gelu_grad(0) == (real)0.5);
    real nan = (real)NAN;
    CHECK(isnan(vm_exp(nan)) && isnan(vm_log(nan)) && isnan(vm_tanh(nan)) && isnan(vm_erf(nan)));
    CHECK(isnan(vm_gelu(nan)) && isnan(vm_gelu_grad(nan)));
}

TEST_MAIN({"exp within its bound", exp_within_its_bound, 3600},
          {"log within its bound", log_within_its_bound, 3600},
          {"tanh within its bound", tanh_within_its_bound, 3600},
          {"erf within its bound", erf_within_its_bound, 3600},
          {"gelu within its bound", gelu_within_its_bound, 3600},
          {"gelu_grad within its bound", gelu_grad_within_its_bound, 3600},
          {"special values are those of libm", special_values_are_those_of_libm})
