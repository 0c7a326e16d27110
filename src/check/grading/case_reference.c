#include "base/random.h"
#include "check/grading/case_files.h"
#include <string.h>

/* The values of an array after run_case. */
static const real *values_of(const CaseFiles *f, const CaseArray *a, const real *y) {
    return a->role == CASE_OUTPUT ? y : f->point.in[a->input].tensor.grad;
}

static bool is_result(const CaseArray *a) {
    return a->role == CASE_OUTPUT || a->role == CASE_GRADIENT;
}

/* Runs the case forward and back; returns the output. All that forward computed changes by the part
 * `change` of itself before backward. */
static const real *run_case(CaseFiles *f, const real *dy, real change, uint64_t key) {
    real *y = arena_alloc(&f->arena, (size_t)f->outputs * sizeof *y);
    point_ready(&f->point, 0);
    tensor_copy_out(check_run_forward(&f->run), y);
    if (change != 0) check_run_disturb(&f->run, change, key);
    check_run_backward(&f->run, dy);
    return y;
}

/* Fills a row of each gradient's entries. */
static void fill_row(CaseFiles *f, long row) {
    for (CaseArray *a = f->array; a < f->array + f->arrays; a++) {
        if (a->role != CASE_GRADIENT) continue;
        Entry *entry = a->expected.proof->entry + row * a->expected.count;
        const real *grad = f->point.in[a->input].tensor.grad;
        for (long j = 0; j < a->expected.count; j++) entry[j].analytic = entry[j].numeric = (double)grad[j];
    }
}

static Entries *new_entries(CaseFiles *f, int input, long count) {
    Entries *all = arena_alloc(&f->arena, sizeof *all);
    *all = (Entries){.input = input,
                     .cotangents = 1,
                     .outputs = f->outputs,
                     .coordinates = count,
                     .cotangent = f->dy,
                     .entry = arena_alloc(&f->arena, (size_t)((1 + f->outputs) * count) * sizeof(Entry)),
                     .state = arena_alloc(&f->arena, (size_t)count * sizeof(EntryState)),
                     .doubt = arena_alloc(&f->arena, (size_t)count * sizeof(Doubt))};
    return all;
}

/* Runs the case with its inputs changed in their last digits. A trial that crosses a kink is ignored. */
static void move(CaseFiles *f, uint64_t branches, uint64_t key) {
    const real change = (real)EXPECTED_CHANGE;
    for (int k = 0; k < f->point.inputs; k++)
        if (case_has_file(f, k)) point_jitter(&f->point, k, change, random_key(key, (uint64_t)k));
    const real *y = run_case(f, f->dy, change, random_key(key, CHECK_INPUTS));
    for (CaseArray *a = f->array; f->run.branches == branches && a < f->array + f->arrays; a++)
        if (is_result(a)) expected_move(&a->expected, values_of(f, a, y));
    for (int k = 0; k < f->point.inputs; k++)
        if (case_has_file(f, k)) point_restore(&f->point, k);
}

void case_expect(CaseFiles *f) {
    real *one_hot = arena_alloc(&f->arena, (size_t)f->outputs * sizeof *one_hot);
    const real *y = run_case(f, f->dy, 0, 0);
    uint64_t branches = f->run.branches;
    for (CaseArray *a = f->array; a < f->array + f->arrays; a++) {
        if (!is_result(a)) continue;
        expected_take(&a->expected, &f->arena, a->shape, values_of(f, a, y));
        if (a->role == CASE_GRADIENT) a->expected.proof = new_entries(f, a->input, a->expected.count);
    }
    fill_row(f, 0);
    for (long q = 0; q < f->outputs; one_hot[q++] = 0) {
        one_hot[q] = 1;
        run_case(f, one_hot, 0, 0);
        fill_row(f, 1 + q);
    }
    for (uint64_t trial = 0; trial < EXPECTED_TRIALS; trial++) move(f, branches, random_key(1, trial));
    for (CaseArray *a = f->array; a < f->array + f->arrays; a++)
        if (a->role == CASE_GRADIENT) check_entries(&f->run, a->expected.proof);
}
