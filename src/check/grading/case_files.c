#include "check/grading/case_files.h"
#include "base/directory.h"
#include "base/utf8.h"
#include "check/grading/directories.h"
#include "check/npy.h"
#include "formats/json.h"
#include <string.h>

const CheckCase *case_find(const OpEntry *entry, const char *name, Error *e) {
    const Op *op = entry->op;
    const CheckCase *found = NULL;
    int count = 0;
    for (int i = 0; i < op->n_cases; i++) {
        if (!name || strcmp(op->cases[i].name, name) == 0) return &op->cases[i];
        if (!strstr(op->cases[i].name, name)) continue;
        if (!count++) found = &op->cases[i];
    }
    if (count == 1) return found;
    if (count)
        error_set(e, STATUS_USAGE, "case: %s has %d like '%s', '%s' for one", op->name, count, ESCAPED(name),
                  found->name);
    else
        error_set(e, STATUS_USAGE, "case: %s has none like '%s'", op->name, ESCAPED(name));
    return NULL;
}

bool case_has_file(const CaseFiles *f, int k) {
    return f->point.in[k].same_as < 0;
}

/* Rounds to single precision. */
static void round_to_single(real *x, long count) {
    for (long i = 0; i < count; i++) x[i] = (real)(float)x[i];
}

static void add_array(CaseFiles *f, CaseRole role, int input, const char *name, Shape s, real *value) {
    CaseArray *a = &f->array[f->arrays++];
    *a = (CaseArray){.role = role, .input = input, .shape = s, .value = value};
    bool derived = role == CASE_UPSTREAM || role == CASE_GRADIENT;
    snprintf(a->name, sizeof a->name, "%s%s", derived ? "d" : "", name);
}

static void list_arrays(CaseFiles *f) {
    const Tensor *y = f->run.y;
    const PointInput *in = f->point.in;
    real *output = arena_alloc(&f->arena, (size_t)f->outputs * sizeof *output);
    tensor_copy_out(y, output);
    for (int k = 0; k < f->point.inputs; k++)
        add_array(f, CASE_INPUT, k, in[k].name, in[k].shape, in[k].value);
    add_array(f, CASE_OUTPUT, -1, "y", y->shape, output);
    add_array(f, CASE_UPSTREAM, -1, "y", y->shape, f->dy);
    for (int k = 0; k < f->point.inputs; k++)
        if (point_has_gradient(&f->point, k)) add_array(f, CASE_GRADIENT, k, in[k].name, in[k].shape, NULL);
}

void case_open(CaseFiles *f, const OpEntry *entry, const CheckCase *c, uint64_t seed, bool single) {
    *f = (CaseFiles){.entry = entry, .c = c, .seed = seed, .single = single};
    f->run = (CheckRun){.op = entry->op->name, .c = c, .tape = tape_new(), .point = &f->point};
    point_draw(&f->drawn, &f->arena, NULL, entry->op->name, c, seed, POINT_DRAWN, 0);
    point_lay_out(&f->point, &f->arena, &f->drawn, CONTIGUOUS);
    for (int k = 0; single && k < f->point.inputs; k++) {
        if (!case_has_file(f, k)) continue;
        round_to_single(f->point.in[k].value, f->point.in[k].count);
        point_restore(&f->point, k);
    }
    point_ready(&f->point, 0);
    f->outputs = shape_count(check_run_forward(&f->run)->shape);
    f->dy = arena_alloc(&f->arena, (size_t)f->outputs * sizeof *f->dy);
    check_run_cotangent(f->dy, f->outputs, seed, 0);
    if (single) round_to_single(f->dy, f->outputs);
    list_arrays(f);
}

void case_close(CaseFiles *f) {
    tape_free(f->run.tape);
    arena_free(&f->arena);
}

/* ---- case.json ---- */

static void print_member(FILE *out, const char *key, const char *text) {
    fprintf(out, "  \"%s\": ", key);
    json_print(out, text);
    fprintf(out, ",\n");
}

/* Prints the arrays of a role: {"name": "x", "file": "x.npy", "shape": [3, 5]}, each after `between`. */
static void print_arrays(FILE *out, const CaseFiles *f, CaseRole role, const char *between) {
    const char *comma = "";
    for (const CaseArray *a = f->array; a < f->array + f->arrays; a++) {
        if (a->role != role) continue;
        fprintf(out, "%s%s{\"name\": \"%s\", \"file\": \"%s.npy\", \"shape\": [", comma, between, a->name,
                a->name);
        for (int i = 0; i < a->shape.rank; i++) fprintf(out, i ? ", %ld" : "%ld", a->shape.size[i]);
        fprintf(out, "]}");
        comma = ",";
    }
}

/* The node of a case that is its operation alone, on the case's inputs in their order. NULL: it is not. */
static const Node *only_step(const CaseFiles *f) {
    const Node *n = f->run.tape->last;
    int next = 0;
    if (!n || n->previous || n->op != f->entry->op) return NULL;
    for (int k = 0; k < n->inputs; k++)
        if (n->in[k] && (next == f->point.inputs || n->in[k] != f->point.x[next++])) return NULL;
    return next == f->point.inputs ? n : NULL;
}

static void print_case(FILE *out, const void *context) {
    const CaseFiles *f = context;
    const Node *n = only_step(f);
    fprintf(out, "{\n");
    print_member(out, "operation", f->entry->op->name);
    print_member(out, "case", f->c->name);
    print_member(out, "formula", f->entry->formula);
    fprintf(out, "  \"arguments\": {");
    if (n->op->arguments) n->op->arguments(n, out);
    fprintf(out, "},\n");
    print_member(out, "dtype", f->single ? "float32" : "float64");
    fprintf(out, "  \"seed\": %llu,\n  \"inputs\": [", (unsigned long long)f->seed);
    print_arrays(out, f, CASE_INPUT, "\n    ");
    fprintf(out, "\n  ],\n  \"output\": ");
    print_arrays(out, f, CASE_OUTPUT, "");
    fprintf(out, ",\n  \"upstream\": ");
    print_arrays(out, f, CASE_UPSTREAM, "");
    fprintf(out, ",\n  \"wanted\": [");
    print_arrays(out, f, CASE_GRADIENT, "\n    ");
    fprintf(out, "\n  ],\n  \"task\": ");
    json_print(out,
               "Write each wanted file: the gradient of L = sum(dy * y) with respect to that input, in its "
               "shape. y.npy is judged as well: you may replace it with the output of your own forward.");
    fprintf(out, "\n}\n");
}

/* ---- The files ---- */

static bool write_array(CaseFiles *f, const CaseArray *a, const char *directory, Error *e) {
    char path[PATH_ROOM], file[CASE_FILE];
    long count = shape_count(a->shape);
    float *narrow = arena_alloc(&f->arena, (size_t)count * sizeof *narrow);
    double *wide = arena_alloc(&f->arena, (size_t)count * sizeof *wide);
    for (long i = 0; i < count; i++) narrow[i] = (float)a->value[i], wide[i] = (double)a->value[i];
    Array in_file = f->single ? array_over(NULL, DTYPE_F32, a->shape, narrow)
                              : array_over(NULL, DTYPE_F64, a->shape, wide);
    snprintf(file, sizeof file, "%s.npy", a->name);
    return directory_file(path, directory, file, STATUS_CANNOT_CREATE, e) && npy_write(&in_file, path, e);
}

/* Whether a file is written for the student. */
static bool is_given(const CaseFiles *f, const CaseArray *a) {
    return a->value && (a->role != CASE_INPUT || case_has_file(f, a->input));
}

bool case_write(CaseFiles *f, const char *directory, bool force, Error *e) {
    char path[PATH_ROOM];
    if (!only_step(f))
        return error_set(e, STATUS_USAGE, "case: '%s' uses more than the operation, need another case of %s",
                         f->c->name, f->entry->op->name);
    if (!directory_make(directory, e)) return false;
    if (!force && !directory_empty(directory))
        return error_set(e, STATUS_CANNOT_CREATE, "%s: found files there, need an empty directory or --force",
                         ESCAPED(directory));
    for (const CaseArray *a = f->array; a < f->array + f->arrays; a++)
        if (is_given(f, a) && !write_array(f, a, directory, e)) return false;
    return directory_file(path, directory, "case.json", STATUS_CANNOT_CREATE, e) &&
           file_print_whole(path, print_case, f, e);
}

/* ---- For the terminal ---- */

static const char *description(char text[REPORT_TEXT], const CaseFiles *f, const CaseArray *a) {
    static const char *const of_role[] = {[CASE_INPUT] = "an input",
                                          [CASE_OUTPUT] =
                                              "the output; you may replace it with that of your own forward",
                                          [CASE_UPSTREAM] = "the upstream gradient, of L = sum(dy * y)"};
    bool constant = a->role == CASE_INPUT && !point_has_gradient(&f->point, a->input);
    if (a->role == CASE_GRADIENT)
        snprintf(text, REPORT_TEXT, "dL/%s", a->name);
    else
        snprintf(text, REPORT_TEXT, "%s%s", of_role[a->role], constant ? " that takes no gradient here" : "");
    return text;
}

void case_instruct(const CaseFiles *f, const char *directory, FILE *out) {
    const char *shown = ESCAPED(directory), *heading = "\nWrite beside them:\n";
    fprintf(out, "%s/%s: %s\n\nIn %s, as %s:\n", f->entry->op->name, f->c->name, f->entry->formula, shown,
            f->single ? "float32" : "float64");
    fprintf(out, "  %-25s %s\n", "case.json", "all of this, and the arguments that are not tensors");
    for (const CaseArray *a = f->array; a < f->array + f->arrays; a++) {
        char file[CASE_FILE], text[REPORT_TEXT];
        if (a->role != CASE_GRADIENT && !is_given(f, a)) continue;
        if (a->role == CASE_GRADIENT) fprintf(out, "%s", heading), heading = "";
        snprintf(file, sizeof file, "%s.npy", a->name);
        fprintf(out, "  %-14s %-10s %s\n", file, shape_text(a->shape), description(text, f, a));
    }
    fprintf(out, "\nThen: ./gradcheck verify %s\n", shown);
    const char *comma = "Other cases: ";
    for (int i = 0; i < f->entry->op->n_cases; i++) {
        if (&f->entry->op->cases[i] == f->c) continue;
        fprintf(out, "%s'%s'", comma, f->entry->op->cases[i].name);
        comma = ", ";
    }
    if (f->entry->op->n_cases > 1) fprintf(out, "\n");
}
