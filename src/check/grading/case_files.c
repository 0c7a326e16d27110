#include "check/grading/case_files.h"
#include "base/directory.h"
#include "base/file.h"
#include "base/utf8.h"
#include "check/grading/directories.h"
#include "check/npy.h"
#include "formats/json.h"
#include <stdlib.h>
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

void case_open(CaseFiles *f, const OpEntry *entry, const CheckCase *c, uint64_t seed, bool single) {
    *f = (CaseFiles){.entry = entry, .c = c, .seed = seed};
    f->run = (CheckRun){.op = entry->op->name, .c = c, .tape = tape_new(), .point = &f->point};
    point_draw(&f->drawn, &f->arena, NULL, entry->op->name, c, seed, POINT_DRAWN, 0);
    point_lay_out(&f->point, &f->arena, &f->drawn, (CheckLayout[CHECK_INPUTS]){0});
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
}

void case_close(CaseFiles *f) {
    tape_free(f->run.tape);
    arena_free(&f->arena);
}

/* ---- case.json ---- */

static void print_shape(FILE *out, Shape s) {
    fprintf(out, "[");
    for (int i = 0; i < s.rank; i++) fprintf(out, i ? ", %ld" : "%ld", s.size[i]);
    fprintf(out, "]");
}

static void print_member(FILE *out, const char *key, const char *text) {
    fprintf(out, "  \"%s\": ", key);
    json_print(out, text);
    fprintf(out, ",\n");
}

static void print_arguments(FILE *out, const Node *n) {
    fprintf(out, "\"arguments\": {");
    if (n && n->op->arguments) n->op->arguments(n, out);
    fprintf(out, "}");
}

/* {"name": "x", "file": "x.npy", "shape": [3, 5]}, with `before` and `after` around the name in the
 * file's. */
static void print_file(FILE *out, const char *name, const char *before, Shape s) {
    fprintf(out, "{\"name\": \"%s%s\", \"file\": \"%s%s.npy\", \"shape\": ", before, name, before, name);
    print_shape(out, s);
    fprintf(out, "}");
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

static void print_case(FILE *out, const CaseFiles *f, bool single) {
    fprintf(out, "{\n");
    print_member(out, "operation", f->entry->op->name);
    print_member(out, "case", f->c->name);
    print_member(out, "formula", f->entry->formula);
    fprintf(out, "  ");
    print_arguments(out, only_step(f));
    fprintf(out, ",\n");
    print_member(out, "dtype", single ? "float32" : "float64");
    fprintf(out, "  \"seed\": %llu,\n  \"inputs\": [", (unsigned long long)f->seed);
    const char *comma = "\n";
    for (int k = 0; k < f->point.inputs; k++, comma = ",\n") {
        fprintf(out, "%s    ", comma);
        print_file(out, f->point.in[k].name, "", f->point.in[k].shape);
    }
    fprintf(out, "\n  ],\n  \"output\": ");
    print_file(out, "y", "", f->run.y->shape);
    fprintf(out, ",\n  \"upstream\": ");
    print_file(out, "y", "d", f->run.y->shape);
    fprintf(out, ",\n  \"wanted\": [");
    comma = "\n";
    for (int k = 0; k < f->point.inputs; k++) {
        if (!point_has_gradient(&f->point, k)) continue;
        fprintf(out, "%s    ", comma);
        print_file(out, f->point.in[k].name, "d", f->point.in[k].shape);
        comma = ",\n";
    }
    fprintf(out, "\n  ],\n  \"task\": ");
    json_print(out,
               "Write each wanted file: the gradient of L = sum(dy * y) with respect to that input, in its "
               "shape. y.npy is judged as well: your own forward's may take its place.");
    fprintf(out, "\n}\n");
}

/* ---- The files ---- */

static bool write_case(const CaseFiles *f, const char *directory, bool single, Error *e) {
    char path[PATH_ROOM], *text = NULL;
    size_t size = 0;
    if (!directory_file(path, directory, "case.json", STATUS_CANNOT_CREATE, e)) return false;
    FILE *memory = open_memstream(&text, &size);
    if (memory) print_case(memory, f, single), fclose(memory);
    if (!text) return error_set(e, STATUS_NO_MEMORY, "%s: no memory for its text", path);
    File *file = file_create(path, e);
    if (file) file_write(file, text, size);
    free(text);
    return file && file_commit(file, e);
}

/* DIR/[d]NAME.npy */
static bool write_array(const char *directory, const char *before, const char *name, Shape s, const real *x,
                        bool single, Error *e) {
    char path[PATH_ROOM], file[CASE_FILE];
    long count = shape_count(s);
    size_t size = single ? sizeof(float) : sizeof(double);
    void *bytes = malloc((size_t)count * size + 1);
    if (!bytes) return error_set(e, STATUS_NO_MEMORY, "%s: no memory for its elements", name);
    for (long i = 0; i < count; i++)
        if (single)
            ((float *)bytes)[i] = (float)x[i];
        else
            ((double *)bytes)[i] = (double)x[i];
    Array a = array_over(NULL, single ? DTYPE_F32 : DTYPE_F64, s, bytes);
    snprintf(file, sizeof file, "%s%s.npy", before, name);
    bool ok = directory_file(path, directory, file, STATUS_CANNOT_CREATE, e) && npy_write(&a, path, e);
    free(bytes);
    return ok;
}

bool case_write(CaseFiles *f, const char *directory, bool single, bool force, Error *e) {
    if (!only_step(f))
        return error_set(e, STATUS_USAGE, "case: '%s' uses more than the operation, need another case of %s",
                         f->c->name, f->entry->op->name);
    if (!directory_make(directory, e)) return false;
    if (!force && !directory_empty(directory))
        return error_set(e, STATUS_CANNOT_CREATE, "%s: found files there, need an empty directory or --force",
                         ESCAPED(directory));
    const Tensor *y = f->run.y;
    real *values = arena_alloc(&f->arena, (size_t)f->outputs * sizeof *values);
    tensor_copy_out(y, values);
    for (int k = 0; k < f->point.inputs; k++)
        if (case_has_file(f, k) && !write_array(directory, "", f->point.in[k].name, f->point.in[k].shape,
                                                f->point.in[k].value, single, e))
            return false;
    return write_array(directory, "", "y", y->shape, values, single, e) &&
           write_array(directory, "d", "y", y->shape, f->dy, single, e) &&
           write_case(f, directory, single, e);
}

/* ---- For the terminal ---- */

static void file_line(FILE *out, const char *before, const char *name, Shape s, const char *what) {
    char file[CASE_FILE];
    snprintf(file, sizeof file, "%s%s.npy", before, name);
    fprintf(out, "  %-14s %-10s %s\n", file, shape_text(s), what);
}

void case_instruct(const CaseFiles *f, const char *directory, bool single, FILE *out) {
    const char *shown = ESCAPED(directory);
    Shape y = f->run.y->shape;
    fprintf(out, "%s/%s: %s\n\nIn %s, as %s:\n", f->entry->op->name, f->c->name, f->entry->formula, shown,
            single ? "float32" : "float64");
    fprintf(out, "  %-25s %s\n", "case.json", "all of this, and the arguments that are not tensors");
    for (int k = 0; k < f->point.inputs; k++)
        if (case_has_file(f, k))
            file_line(out, "", f->point.in[k].name, f->point.in[k].shape,
                      point_has_gradient(&f->point, k) ? "an input" : "an input that takes no gradient here");
    file_line(out, "", "y", y, "the output; your own forward's may take its place");
    file_line(out, "d", "y", y, "the upstream gradient, of L = sum(dy * y)");
    fprintf(out, "\nWrite beside them:\n");
    for (int k = 0; k < f->point.inputs; k++) {
        if (!point_has_gradient(&f->point, k)) continue;
        char what[CASE_FILE];
        snprintf(what, sizeof what, "dL/d%s", f->point.in[k].name);
        file_line(out, "d", f->point.in[k].name, f->point.in[k].shape, what);
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
