/* exp, log, tanh, erf and gelu over the whole range of floats against libm in the next wider type.
 *
 * A run looks at every 251st float; VECTOR_MATH_STRIDE=1 in the environment makes it every one (about four
 * minutes a function). In double, where the functions are libm's, it looks at a million numbers spread evenly
 * over the bit patterns. */
#include "kernels/vector_math.h"
#include "check/grading/ulp_sweep.h"
#include "test.h"

static void sweep(const char *name) {
    const char *stride = getenv("VECTOR_MATH_STRIDE");
    long every = stride ? strtol(stride, NULL, 10) : 251;
    bool known = false;
    for (int i = 0; i < ULP_SWEEPS; i++) {
        UlpSweep s = ulp_sweeps[i];
        if (strcmp(s.name, name) != 0) continue;
        known = true;
        ulp_sweep(&s, every > 0 ? every : 1);
        if (stride) printf("  %s: %.4f ulp at %a\n", name, s.worst, (double)s.worst_at);
        CHECK(s.worst <= s.limit, "%s: %.4f ulp at %a", name, s.worst, (double)s.worst_at);
        CHECK(s.count > 1 << 19, "%s: %ld numbers", name, s.count);
    }
    CHECK(known, "no sweep of %s", name);
}

static void exp_within_its_bound(void) {
    sweep("exp");
}

static void log_within_its_bound(void) {
    sweep("log");
}

static void tanh_within_its_bound(void) {
    sweep("tanh");
}

static void erf_within_its_bound(void) {
    sweep("erf");
}

static void gelu_within_its_bound(void) {
    sweep("gelu");
}

static void gelu_grad_within_its_bound(void) {
    sweep("gelu_grad");
}

/* The sweep sees what it has to see: errors of a known size at known places, a NaN, a sign of 0, an overflow. */
static Wide itself(Wide x) {
    return x;
}

static void exact_row(real *y, const real *x, long n) {
    for (long i = 0; i < n; i++) y[i] = x[i];
}

/* Off by 3 ulps of the numbers in [1, 2). */
static void off_row(real *y, const real *x, long n) {
    for (long i = 0; i < n; i++) y[i] = x[i] >= 1 && x[i] < 2 ? x[i] + 3 * REAL_EPSILON : x[i];
}

static void nan_row(real *y, const real *x, long n) {
    for (long i = 0; i < n; i++) y[i] = x[i] > 5 && x[i] < 50 ? (real)NAN : x[i];
}

static void unsigned_row(real *y, const real *x, long n) {
    for (long i = 0; i < n; i++) y[i] = fabs(x[i]) < 1 ? (real)0 : x[i];
}

static void overflowing_row(real *y, const real *x, long n) {
    for (long i = 0; i < n; i++) y[i] = x[i] > REAL_MAX / 2 ? (real)INFINITY : x[i];
}

static double worst_of(void (*row)(real *y, const real *x, long n), Wide floor) {
    UlpSweep s = {.name = "test", .row = row, .want = itself, .floor = floor};
    ulp_sweep(&s, 251);
    return s.worst;
}

static void sweeps_see_errors(void) {
    CHECK(worst_of(exact_row, 0) == 0, "%g", worst_of(exact_row, 0));
    CHECK(worst_of(off_row, 0) == 3, "%g", worst_of(off_row, 0));
    CHECK(worst_of(off_row, 2) == 1.5, "%g", worst_of(off_row, 2));
    CHECK(isinf(worst_of(nan_row, 0)) && isinf(worst_of(overflowing_row, 0)));
    CHECK(worst_of(unsigned_row, 0) > 1e6, "%g", worst_of(unsigned_row, 0));
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
          {"sweeps see errors", sweeps_see_errors},
          {"special values are those of libm", special_values_are_those_of_libm})
