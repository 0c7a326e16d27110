#include "check/grading/ulps.h"
#include "base/pool.h"
#include "check/gradcheck/rounding.h"
#include "check/grading/directories.h"
#include "check/grading/term_sizes.h"
#include "check/grading/twin.h"
#include "check/grading/ulp_sweep.h"
#include "ops/ops.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RESULT_NAME = 2 * REPORT_NAME + 16 };

static void result_name(char out[RESULT_NAME], const char *op, int i, const char *part) {
    snprintf(out, RESULT_NAME, "%.60s/%d/%.60s", op, i, part);
}

/* ---- In float: everything is computed and written ---- */

typedef struct Writing {
    Arena arena;
    Array *tensor;
    long count, capacity;
} Writing;

static void write_later(Writing *w, const char *name, Dtype dtype, Shape shape, const void *value) {
    w->tensor = array_grown(w->tensor, w->count, &w->capacity, sizeof *w->tensor);
    char *kept = arena_alloc(&w->arena, strlen(name) + 1);
    w->tensor[w->count++] = array_over(strcpy(kept, name), dtype, shape, value);
}

static void run_case(Writing *w, const char *op, const CheckCase *c, int i, uint64_t seed) {
    UlpCase s;
    char name[RESULT_NAME];
    ulp_case_open(&s, &w->arena, op, c, seed);
    UlpResults r = ulp_results(&s);
    ulp_compute(&s, &r);
    for (int k = 0; k < r.parts; k++) {
        result_name(name, op, i, r.part[k].name);
        write_later(w, name, DTYPE_REAL, r.part[k].shape, r.part[k].value);
    }
    tape_free(s.run.tape);
}

enum { SWEEP_COUNT, SWEEP_WORST, SWEEP_AT, SWEEP_LIMIT, SWEEP_NUMBERS };

static void run_sweep(Writing *w, int i, long every) {
    UlpSweep s = ulp_sweeps[i];
    char name[RESULT_NAME];
    ulp_sweep(&s, every);
    double *number = arena_alloc(&w->arena, SWEEP_NUMBERS * sizeof *number);
    number[SWEEP_COUNT] = (double)s.count;
    number[SWEEP_WORST] = s.worst;
    number[SWEEP_AT] = (double)s.worst_at;
    number[SWEEP_LIMIT] = s.limit;
    result_name(name, "sweep", i, s.name);
    write_later(w, name, DTYPE_F64, SHAPE(SWEEP_NUMBERS), number);
}

bool ulps_write(const char *path, const char *op, uint64_t seed, long every, Error *e) {
    Writing w = {0};
    for (int k = 0; k < ops_count; k++) {
        const Op *o = ops_all[k].op;
        for (int i = 0; i < o->n_cases && (!op || strcmp(op, o->name) == 0); i++)
            run_case(&w, o->name, &o->cases[i], i, seed);
    }
    for (int i = 0; !op && i < ULP_SWEEPS; i++) run_sweep(&w, i, every);
    bool ok = safetensors_write(path, NULL, 0, w.tensor, (int)w.count, e);
    free(w.tensor);
    arena_free(&w.arena);
    return ok;
}

/* ---- In double: the results are judged ---- */

bool ulps_ask_twin(Safetensors *results, const char *op, uint64_t seed, long every, Error *e) {
    char folder[TEMPORARY_PATH], path[TEMPORARY_PATH + 16], seed_text[32], every_text[32], threads[16];
    if (!directory_temporary(folder, e)) return false;
    snprintf(path, sizeof path, "%s/results", folder);
    snprintf(seed_text, sizeof seed_text, "%" PRIu64, seed);
    snprintf(every_text, sizeof every_text, "%ld", every);
    snprintf(threads, sizeof threads, "%d", pool_threads());
    bool ok = twin_run((const char *[]){"ulps", "--write", path, "--seed", seed_text, "--every", every_text,
                                        "--threads", threads, op, NULL},
                       e) &&
              safetensors_read(results, path, e);
    directory_remove(folder);
    return ok;
}

/* A unit in the last place of a float of this size. What is made of numbers below FLT_MIN, which have few
 * digits, has no better unit than that. */
static double float_ulp(double size) {
    return fmax(ldexp((double)FLT_EPSILON, ilogb(fmax(size, (double)FLT_MIN))), (double)FLT_MIN);
}

/* The error in ulps; both infinite, or both not a number, is no error, nor is it to overflow where a float
 * does. */
static double error_in_ulps(double found, double want, double terms) {
    if (isnan(found) || isnan(want)) return isnan(found) && isnan(want) ? 0 : INFINITY;
    if (found == want || (isinf(found) && fabs(want) > (double)FLT_MAX && (found > 0) == (want > 0)))
        return 0;
    return fabs(found - want) / float_ulp(terms);
}

static void judge_part(const struct UlpResult *want, const double *found, const double *size,
                       InputReport *r) {
    *r = (InputReport){.shape = want->shape, .coordinates = want->count, .output = -1, .error = -1};
    snprintf(r->name, sizeof r->name, "%s", want->name);
    for (long i = 0; i < want->count; i++) {
        double w = (double)want->value[i], terms = size[i], error = error_in_ulps(found[i], w, terms);
        r->wrong += error > ULPS;
        if (error <= r->error) continue;
        r->element = i;
        r->analytic = found[i], r->numeric = w, r->error = error,
        r->estimate = rounding_room(ULPS, 1, float_ulp(terms));
    }
    r->error = fmax(r->error, 0);
    r->verdict = r->wrong ? FAIL : PASS;
    if (r->wrong)
        snprintf(r->reason, sizeof r->reason, "%.3g ulps of its terms, at most %d allowed", r->error, ULPS);
}

static double *read_numbers(const Safetensors *file, const char *name, Shape shape, Arena *arena, Error *e) {
    const Array *a = safetensors_need(file, name, e);
    if (!a || !array_expect_shape(a, shape, e)) return NULL;
    double *x = arena_alloc(arena, ((size_t)a->count + 1) * sizeof *x);
    array_to_double(a, x);
    return x;
}

static void set_trouble(CaseReport *r, const Error *e) {
    r->verdict = FAIL;
    snprintf(r->trouble, sizeof r->trouble, "%.*s", REPORT_TEXT - 1, e->text);
}

static CaseReport new_report(const char *op, const char *name) {
    CaseReport r = {.by_reference = true};
    snprintf(r.op, sizeof r.op, "%s", op);
    snprintf(r.name, sizeof r.name, "%s", name);
    return r;
}

void ulps_judge(const char *op, const CheckCase *c, int i, uint64_t seed, const Safetensors *twin,
                CaseReport *report) {
    Arena arena = {0};
    UlpCase s;
    Error e = {0};
    char name[RESULT_NAME];
    int threads = pool_threads();
    *report = new_report(op, c->name);
    ulp_case_open(&s, &arena, op, c, seed);
    UlpResults want = ulp_results(&s);
    ulp_compute(&s, &want);
    TermSizes sizes = term_sizes(&s, &want);
    for (int p = 0; p < want.parts; p++) {
        result_name(name, op, i, want.part[p].name);
        const double *found = read_numbers(twin, name, want.part[p].shape, &arena, &e);
        if (!found) continue;
        InputReport *part = &report->in[report->inputs++];
        judge_part(&want.part[p], found, sizes.of[p], part);
        if (part->verdict > report->verdict) report->verdict = part->verdict;
    }
    if (e.status) set_trouble(report, &e);
    pool_set_threads(threads);
    tape_free(s.run.tape);
    arena_free(&arena);
}

bool ulps_judge_sweep(int i, const Safetensors *twin, CaseReport *report) {
    if (i >= ULP_SWEEPS) return false;
    Arena arena = {0};
    Error e = {0};
    char name[RESULT_NAME];
    *report = new_report("sweep", ulp_sweeps[i].name);
    result_name(name, "sweep", i, ulp_sweeps[i].name);
    const double *number = read_numbers(twin, name, SHAPE(SWEEP_NUMBERS), &arena, &e);
    if (number) {
        bool wrong = !(number[SWEEP_WORST] <= number[SWEEP_LIMIT]);
        InputReport *in = &report->in[report->inputs++];
        *in = (InputReport){.shape = SCALAR, .coordinates = (long)number[SWEEP_COUNT], .output = -1};
        in->verdict = report->verdict = wrong ? FAIL : PASS;
        in->error = number[SWEEP_WORST], in->analytic = number[SWEEP_AT], in->estimate = number[SWEEP_LIMIT];
        snprintf(in->name, sizeof in->name, "y");
        if (wrong)
            snprintf(in->reason, sizeof in->reason, "%.3g ulps at %.9g, at most %.3g allowed", in->error,
                     in->analytic, in->estimate);
    } else {
        set_trouble(report, &e);
    }
    arena_free(&arena);
    return true;
}
