/* gradcheck ulps: float kernels judged by their double twins. Right ones pass for any seed; an inaccuracy planted in any
 * operation's result or gradient is seen. */
#include "check/grading/ulps.h"
#include "base/pool.h"
#include "child.h"
#include "ops/ops.h"

#define IN_DOUBLE      (sizeof(real) == sizeof(double))
#define GRADCHECK(...) run_program("gradcheck", ARGUMENTS("ulps", __VA_ARGS__), (Streams){0})

static void all_operations_pass(void) {
    if (!IN_DOUBLE) return;
    int status = GRADCHECK("--seed", "1");
    CHECK(status == 0 && !*err, "status %d: %s", status, err);
    for (int i = 0; i < ops_count; i++) {
        char row[REPORT_NAME + 2];
        snprintf(row, sizeof row, "\n%s ", ops_all[i].op->name);
        CHECK(strstr(out, row), "no row for %s", ops_all[i].op->name);
    }
    static const char *const functions[] = {"\nexp  ", "\nlog  ", "\ntanh  ", "\nerf  "};
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        CHECK(strstr(out, functions[i]), "found no '%s'", functions[i] + 1);
    char sum[32];
    snprintf(sum, sizeof sum, "\n%d operations, ", ops_count);
    CHECK(strstr(out, sum), "found no '%s'", sum + 1);
    CHECK(strstr(out, " 0 failed\n") && !strstr(out, "FAIL"));
}

/* Other points: whatever the seed, nothing is accused. */
static void other_seeds_pass(void) {
    if (!IN_DOUBLE) return;
    for (int seed = 2; seed < 12; seed++) {
        char text[12];
        snprintf(text, sizeof text, "%d", seed);
        int status = GRADCHECK("--seed", text, "--every", "100003");
        CHECK(status == 0, "seed %d: status %d: %s", seed, status, err);
    }
}

static void threads_do_not_matter(void) {
    if (!IN_DOUBLE) return;
    CHECK(GRADCHECK("--json", "--threads", "1", "--every", "10007") == 0, "%s", err);
    char *one = strdup(out);
    CHECK(GRADCHECK("--json", "--threads", "3", "--every", "10007") == 0, "%s", err);
    CHECK(strcmp(one, out) == 0);
    free(one);
}

/* ---- Planted inaccuracies ---- */

/* What the float twin gives, in this process. */
static Safetensors twin_results(void) {
    Error e = {0};
    Safetensors s;
    char folder_of_double[sizeof program_folder];
    enter_folder();
    strcpy(folder_of_double, program_folder);
    strcpy(strrchr(program_folder, '/'), "/float");
    int status = GRADCHECK("--write", "results", "--every", "100003");
    CHECK(status == 0, "status %d: %s", status, err);
    strcpy(program_folder, folder_of_double);
    CHECK(safetensors_read(&s, "results", &e), "%s", e.text);
    return s;
}

/* Multiplies the part of every case of an operation; those cases fail that have something to multiply and whose terms
 * do not cancel. Returns how many fail. */
static int failures(Safetensors *s, const Op *op, const char *part, float factor) {
    static CaseReport r;
    int failed = 0;
    for (int i = 0; i < op->n_cases; i++) {
        char name[2 * REPORT_NAME];
        snprintf(name, sizeof name, "%s/%d/%s", op->name, i, part);
        Array *a = (Array *)safetensors_find(s, name), kept;
        if (!a) continue;
        kept = *a;
        float *x = malloc((size_t)(a->count + 1) * sizeof *x);
        if (!x) exit(1);
        memcpy(x, a->bytes, (size_t)a->count * sizeof *x);
        for (long k = 0; k < a->count; k++) x[k] *= factor;
        a->bytes = x;
        ulps_judge(op->name, &op->cases[i], i, 1, s, &r);
        failed += r.verdict == FAIL;
        *a = kept;
        free(x);
    }
    return failed;
}

/* 3e-6 is 25 to 50 ulps. Every part of every operation is inaccurate by that much, one after the other, but the
 * gradients that are 0 by design. */
static void inaccuracies_are_seen_everywhere(void) {
    if (!IN_DOUBLE) return;
    Safetensors s = twin_results();
    static CaseReport r;
    int planted = 0;
    for (int i = 0; i < ops_count; i++) {
        const Op *op = ops_all[i].op;
        ulps_judge(op->name, &op->cases[0], 0, 1, &s, &r);
        CHECK(r.verdict == PASS && r.inputs >= 1, "%s: %s", op->name, r.trouble);
        for (int p = 0; p < r.inputs; p++) {
            char part[REPORT_NAME];
            snprintf(part, sizeof part, "%s", r.in[p].name);
            CHECK(failures(&s, op, part, 1) == 0, "%s, %s: accused", op->name, part);
            CHECK(failures(&s, op, part, 1 + 3e-6f) > 0, "%s, %s: not seen", op->name, part);
            planted++;
            ulps_judge(op->name, &op->cases[0], 0, 1, &s, &r);
        }
    }
    CHECK(planted > 2 * ops_count, "only %d planted", planted);
    safetensors_free(&s);
}

/* One element is off: it is named, with its error. */
static void the_worst_element_is_named(void) {
    if (!IN_DOUBLE) return;
    Safetensors s = twin_results();
    static CaseReport r;
    Array *a = (Array *)safetensors_find(&s, "tanh/0/y");
    CHECK(a && a->dtype == DTYPE_F32 && a->count == 12);
    if (!a) return;
    float x[12];
    memcpy(x, a->bytes, sizeof x);
    x[7] = nextafterf(x[7], 2);
    a->bytes = x;
    ulps_judge("tanh", &op_tanh.cases[0], 0, 1, &s, &r);
    CHECK(r.verdict == PASS, "one ulp is accused: %s", r.in[0].reason);
    x[7] += 100 * FLT_EPSILON;
    ulps_judge("tanh", &op_tanh.cases[0], 0, 1, &s, &r);
    CHECK(r.verdict == FAIL && r.in[0].wrong == 1 && r.in[0].element == 7, "element %ld", r.in[0].element);
    CHECK(r.in[0].error > 50 && r.in[0].error < 500 && strstr(r.in[0].reason, "ulps"), "%g", r.in[0].error);
    x[7] = NAN;
    ulps_judge("tanh", &op_tanh.cases[0], 0, 1, &s, &r);
    CHECK(r.verdict == FAIL && isinf(r.in[0].error) && r.in[1].verdict == PASS);
    x[7] = INFINITY;
    ulps_judge("tanh", &op_tanh.cases[0], 0, 1, &s, &r);
    CHECK(r.verdict == FAIL && isinf(r.in[0].error) && r.in[0].element == 7);
    a->count = 11, a->rank = 1, a->size[0] = 11;
    ulps_judge("tanh", &op_tanh.cases[0], 0, 1, &s, &r);
    CHECK(r.verdict == FAIL && strstr(r.trouble, "found shape [11]"), "%s", r.trouble);
    safetensors_free(&s);
}

/* A sweep is as good as its worst number, and nothing where its numbers are missing. */
static void sweeps_are_judged(void) {
    if (!IN_DOUBLE) return;
    enum { WORST = 1 };
    Safetensors s = twin_results();
    static CaseReport r;
    Array *a = (Array *)safetensors_find(&s, "sweep/0/exp");
    double number[4];
    CHECK(a && a->dtype == DTYPE_F64 && a->count == 4 && ulps_judge_sweep(0, &s, &r) && r.verdict == PASS);
    if (!a) return;
    memcpy(number, a->bytes, sizeof number);
    a->bytes = number;
    number[WORST] = 7;
    CHECK(ulps_judge_sweep(0, &s, &r) && r.verdict == FAIL && strstr(r.in[0].reason, "7 ulps at "), "%s",
          r.in[0].reason);
    number[WORST] = NAN;
    CHECK(ulps_judge_sweep(0, &s, &r) && r.verdict == FAIL);
    a->count = a->size[0] = 3;
    CHECK(ulps_judge_sweep(0, &s, &r) && r.verdict == FAIL && strstr(r.trouble, "found shape [3]"), "%s",
          r.trouble);
    safetensors_free(&s);
}

/* Of one operation alone no other is judged, and no function. */
static void one_operation_is_judged_alone(void) {
    if (!IN_DOUBLE) return;
    CHECK(GRADCHECK("neg") == 0 && strstr(out, "\n1 operations, ") && !strstr(out, "\nexp  "), "%s%s", err,
          out);
}

/* Judging turns the direction of rounding: afterwards it is as it was, and threads are as many. */
static void judging_leaves_no_trace(void) {
    if (!IN_DOUBLE) return;
    Safetensors s = twin_results();
    static CaseReport r;
    pool_set_threads(2);
    volatile double one = 1, three = 3;
    double third = one / three;
    ulps_judge("softmax", &op_softmax.cases[0], 0, 1, &s, &r);
    CHECK(one / three == third && -one / three == -third && pool_threads() == 2);
    safetensors_free(&s);
}

/* What a float build wrote, on another machine perhaps, is judged like this machine's own. */
static void results_of_elsewhere_are_judged(void) {
    if (!IN_DOUBLE) return;
    Safetensors s = twin_results();
    CHECK(GRADCHECK("--read", "results", "--json") == 0, "%s", err);
    char *read = strdup(out);
    CHECK(GRADCHECK("--every", "100003", "--json") == 0, "%s", err);
    CHECK(strcmp(read, out) == 0, "judged otherwise");
    CHECK(GRADCHECK("--read", "results", "--seed", "2") == STATUS_NO, "results of other inputs pass");
    CHECK(GRADCHECK("--read", "none") == STATUS_NO_INPUT && strstr(err, "none: "), "%s", err);
    free(read);
    safetensors_free(&s);
}

/* ---- What does not fit ---- */

static void expect(int status, int want, const char *words) {
    CHECK(status == want, "status %d, want %d: %s", status, want, err);
    CHECK(lines_of(err) == 1 && strstr(err, words), "found '%s', want '%s'", err, words);
}

static void bad_options_get_one_line(void) {
    enter_folder();
    expect(GRADCHECK("gru"), STATUS_USAGE, "operation: found 'gru'");
    expect(GRADCHECK("--every", "0"), STATUS_USAGE, "--every");
    if (IN_DOUBLE) {
        expect(GRADCHECK("--write", "f"), STATUS_USAGE, "need the float one");
    } else {
        expect(GRADCHECK("add"), STATUS_USAGE, "need --write");
        expect(GRADCHECK("add", "--write", "none/f"), STATUS_CANNOT_CREATE, "none/f: ");
    }
}

static void without_a_twin(void) {
    if (!IN_DOUBLE) return;
    enter_folder();
    char copy[PATH_MAX + 40];
    snprintf(copy, sizeof copy, "cp %s/gradcheck alone", program_folder);
    CHECK(system(copy) == 0 && getcwd(program_folder, sizeof program_folder));
    int status = run_program("alone", ARGUMENTS("ulps"), (Streams){0});
    expect(status, STATUS_NO_INPUT, "/build/float/alone: found no such program");
    CHECK(!*out, "it prints");
}

PROGRAM_TEST_MAIN({"all operations pass", all_operations_pass}, {"other seeds pass", other_seeds_pass},
                  {"threads do not matter", threads_do_not_matter},
                  {"inaccuracies are seen everywhere", inaccuracies_are_seen_everywhere},
                  {"the worst element is named", the_worst_element_is_named},
                  {"sweeps are judged", sweeps_are_judged},
                  {"one operation is judged alone", one_operation_is_judged_alone},
                  {"judging leaves no trace", judging_leaves_no_trace},
                  {"results of elsewhere are judged", results_of_elsewhere_are_judged},
                  {"bad options get one line", bad_options_get_one_line}, {"without a twin", without_a_twin})
