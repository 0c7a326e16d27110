/* The float kernels compared with their double twins: every operation at all its check cases, from the same
 * inputs and the same upstream gradient, rounded to float for both.
 *
 *     ulps --write FILE [SEED]    in float: writes the results
 *     ulps --read FILE [SEED]     in double: judges them, also those of another machine
 *
 * Errors are in ulps: units in the last place of a float of the size of the terms that a result is made of
 * (ulp_case.h). A result that is the difference of large terms cannot have more correct digits than these
 * leave it.
 *
 * An ulp of that size is at least what all roundings of the twin amount to if each goes the same way by a
 * whole unit. To the nearest they go by half a unit, but a float kernel sums in another order: 2 ulps at
 * most. Functions like exp and tanh are within 2 ulps (kernels/vector_math.c), and at most two follow
 * each other: 4 ulps. Constants such as 1/√d_k are rounded to float, by half an ulp each, and act on y and
 * once more on dx: 2 ulps. That makes 8. */
#include "check/gradcheck/rounding.h"
#include "child.h"
#include "formats/safetensors.h"
#include "ops/ops.h"
#include "ulp_case.h"

enum { ULPS = 8, RESULT_NAME = 2 * REPORT_NAME + 16 };

static void result_name(char text[RESULT_NAME], const char *op, int i, const char *part) {
    snprintf(text, RESULT_NAME, "%.60s/%d/%.60s", op, i, part);
}

/* ---- In float ---- */

enum { MAX_RESULTS = 4096 };

static int write_results(const char *path, uint64_t seed) {
    static Array tensor[MAX_RESULTS];
    static char name[MAX_RESULTS][RESULT_NAME];
    Arena arena = {0};
    Error e = {0};
    int count = 0;
    for (int k = 0; k < ops_count; k++)
        for (int i = 0; i < ops_all[k].op->n_cases; i++) {
            const Op *op = ops_all[k].op;
            UlpCase s;
            ulp_case_open(&s, &arena, op->name, &op->cases[i], seed);
            UlpResults r = ulp_results(&s);
            ulp_compute(&s, &r);
            for (int p = 0; p < r.parts && count < MAX_RESULTS; p++, count++) {
                result_name(name[count], op->name, i, r.part[p].name);
                tensor[count] =
                    array_over(name[count], DTYPE_REAL, r.part[p].shape, r.part[p].value);
            }
            tape_runner_free(&s.tape);
        }
    bool ok = count < MAX_RESULTS && safetensors_write(path, NULL, 0, tensor, count, &e);
    arena_free(&arena);
    if (!ok) fprintf(stderr, "%s\n", e.text);
    return ok ? 0 : 1;
}

/* ---- In double ---- */

/* A unit in the last place of a float of this size. Numbers below FLT_MIN have few digits: their unit is
 * FLT_MIN. */
static double float_ulp(double size) {
    return fmax(ldexp((double)FLT_EPSILON, ilogb(fmax(size, (double)FLT_MIN))), (double)FLT_MIN);
}

/* Two NaNs are equal; so are infinities, and a float that overflows. */
static double error_in_ulps(double found, double want, double terms) {
    if (isnan(found) || isnan(want)) return isnan(found) && isnan(want) ? 0 : INFINITY;
    if (found == want ||
        (isinf(found) && fabs(want) > (double)FLT_MAX && (found > 0) == (want > 0)))
        return 0;
    return fabs(found - want) / float_ulp(terms);
}

typedef struct Judgement {
    int parts;
    struct {
        char name[REPORT_NAME];
        double worst; /* error in ulps; infinite where the twin has no such result */
        long at;
        double size; /* of the terms there, beside the right value's */
    } part[ULP_RESULTS];
} Judgement;

/* Judges case i of an operation, each element of the results of part `planted` multiplied by `factor`. */
static Judgement judge(const Op *op, int i, uint64_t seed, const Safetensors *twin,
                       const char *planted, double factor) {
    Arena arena = {0};
    Judgement j = {0};
    UlpCase s;
    char name[RESULT_NAME];
    ulp_case_open(&s, &arena, op->name, &op->cases[i], seed);
    UlpResults want = ulp_results(&s);
    ulp_compute(&s, &want);
    TermSizes sizes = term_sizes(&s, &want);
    for (j.parts = 0; j.parts < want.parts; j.parts++) {
        const struct UlpResult *w = &want.part[j.parts];
        Error e = {0};
        result_name(name, op->name, i, w->name);
        const Array *a = safetensors_need(twin, name, &e);
        bool there = a && array_expect_shape(a, w->shape, &e);
        double *found = arena_alloc(&arena, (size_t)(w->count + 1) * sizeof *found),
               worst = there ? 0 : INFINITY;
        if (there) array_to_double(a, found);
        strcpy(j.part[j.parts].name, w->name);
        for (long k = 0; there && k < w->count; k++) {
            if (planted && strcmp(planted, w->name) == 0)
                found[k] = (double)(float)(found[k] * factor);
            double error = error_in_ulps(found[k], (double)w->value[k], sizes.of[j.parts][k]);
            if (error > worst) worst = error, j.part[j.parts].at = k;
        }
        j.part[j.parts].worst = worst;
    }
    tape_runner_free(&s.tape);
    arena_free(&arena);
    return j;
}

static bool fails(const Judgement *j) {
    for (int p = 0; p < j->parts; p++)
        if (!(j->part[p].worst <= ULPS)) return true;
    return false;
}

static void judge_all(const Safetensors *twin, uint64_t seed) {
    for (int k = 0; k < ops_count; k++)
        for (int i = 0; i < ops_all[k].op->n_cases; i++) {
            Judgement j = judge(ops_all[k].op, i, seed, twin, NULL, 1);
            for (int p = 0; p < j.parts; p++)
                CHECK(j.part[p].worst <= ULPS,
                      "%s/%s, %s, seed %d: %.3g ulps of its terms at element %ld",
                      ops_all[k].op->name, ops_all[k].op->cases[i].name, j.part[p].name, (int)seed,
                      j.part[p].worst, j.part[p].at);
        }
}

/* The results of the float build of this test; to be freed. */
static Safetensors twin_results(int seed) {
    Error e = {0};
    Safetensors s = {0};
    char text[12];
    snprintf(text, sizeof text, "%d", seed);
    int status = run_program("../float/tests/check/ulps", ARGUMENTS("--write", "results", text),
                             (Streams){0});
    CHECK(status == 0 && safetensors_read(&s, "results", &e), "status %d: %s%s", status, err,
          e.text);
    return s;
}

/* ---- Tests ---- */

TEST(all_operations_are_accurate) {
    for (int seed = 1; seed <= 3; seed++) {
        Safetensors s = twin_results(seed);
        judge_all(&s, (uint64_t)seed);
        safetensors_free(&s);
    }
}

/* 3e-6 is 25 to 50 ulps. An error of that much in any result or gradient of any operation is seen, except
 * in gradients that are 0 by design. */
TEST(errors_are_seen_everywhere) {
    Safetensors s = twin_results(1);
    for (int k = 0; k < ops_count; k++) {
        const Op *op = ops_all[k].op;
        Judgement first = judge(op, 0, 1, &s, NULL, 1);
        for (int p = 0; p < first.parts; p++) {
            bool seen = false;
            for (int i = 0; i < op->n_cases && !seen; i++) {
                Judgement j = judge(op, i, 1, &s, first.part[p].name, 1 + 3e-6);
                seen = fails(&j);
            }
            CHECK(seen, "%s, %s: not seen", op->name, first.part[p].name);
        }
    }
    safetensors_free(&s);
}

/* Infinities, NaN and missing results are errors. */
TEST(nonsense_is_seen) {
    static const double factors[] = {(double)NAN, (double)INFINITY, -1};
    Safetensors s = twin_results(1);
    for (int i = 0; i < 3; i++) {
        Judgement j = judge(&op_tanh, 0, 1, &s, "y", factors[i]);
        CHECK(fails(&j) && j.part[1].worst <= ULPS, "times %g", factors[i]);
    }
    ((Array *)safetensors_find(&s, "tanh/0/y"))->name = "none";
    Judgement j = judge(&op_tanh, 0, 1, &s, NULL, 1);
    CHECK(isinf(j.part[0].worst), "%g", j.part[0].worst);
    safetensors_free(&s);
}

static int read_results(const char *path, uint64_t seed) {
    Error e = {0};
    Safetensors s;
    bool ok = safetensors_read(&s, path, &e);
    if (ok) judge_all(&s, seed);
    if (!ok) fprintf(stderr, "%s\n", e.text);
    printf("%d results within %d ulps\n", ok ? s.tensors : 0, ULPS);
    safetensors_free(&s);
    return !ok || test_failures;
}

int main(int argc, char **argv) {
    uint64_t seed = argc > 3 ? strtoull(argv[3], NULL, 10) : 1;
    if (argc > 2 && strcmp(argv[1], "--write") == 0) return write_results(argv[2], seed);
    if (argc > 2 && strcmp(argv[1], "--read") == 0) return read_results(argv[2], seed);
    return shipped_tests(argc, argv);
}
