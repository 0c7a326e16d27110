/* Judges what a student wrote beside a check case (case_files.h): the output, and the gradient of each input.
 *
 * The reference is computed anew from the inputs and the upstream gradient in the directory, by the built-in
 * operation, and its gradient there is proved by differences like any other (gradcheck.h). A file may be off
 * by what rounding in its own precision explains (expected.h). On a kink a gradient may be anything
 * between the one-sided derivatives.
 *
 * Each part that is wrong, is missing or cannot be read has a verdict of its own; the others are judged
 * all the same. */
#include "base/directory.h"
#include "base/file.h"
#include "base/options.h"
#include "base/utf8.h"
#include "check/gradcheck/diagnosis.h"
#include "check/grading/case_files.h"
#include "check/grading/commands.h"
#include "check/grading/gradcheck_show.h"
#include "check/npy.h"
#include "formats/json.h"
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct Verification {
    const char *directory;
    CaseFiles files;
    CaseReport *report;
    Error input; /* why the inputs are unusable; then values cannot be judged */
} Verification;

/* ---- case.json ---- */

static bool find_case(Verification *v, const char *path, const char *op, const char *name, Error *e) {
    const OpEntry *entry = ops_find(op);
    if (!entry)
        return error_set(e, STATUS_BAD_DATA, "%s: operation: found '%s', need one that --list shows", path,
                         ESCAPED(op));
    for (int i = 0; i < entry->op->n_cases; i++) {
        if (strcmp(entry->op->cases[i].name, name) != 0) continue;
        case_open(&v->files, entry, &entry->op->cases[i], 0, false);
        return true;
    }
    return error_set(e, STATUS_BAD_DATA, "%s: case: found '%s', need one of %s", path, ESCAPED(name), op);
}

static bool open_case(Verification *v, Error *e) {
    enum { LIMIT = 1 << 20 };
    char path[PATH_ROOM], *text;
    size_t size;
    JsonString key, op = {"", 0}, name = {"", 0};
    if (!directory_file(path, v->directory, "case.json", STATUS_NO_INPUT, e) ||
        !file_read(path, LIMIT, &text, &size, e))
        return false;
    Json j = json_over(path, text, size, e);
    for (json_enter(&j, '{'); json_member(&j, &key);) {
        if (strcmp(key.text, "operation") == 0)
            json_string(&j, &op);
        else if (strcmp(key.text, "case") == 0)
            json_string(&j, &name);
        else
            json_skip(&j);
    }
    bool ok = json_end(&j) && find_case(v, path, op.text, name.text, e);
    free(text);
    return ok;
}

/* ---- Arrays ---- */

/* Whether the array has the shape. */
static bool fits(const Verification *v, const Array *a, Shape s, const char **what, Error *e) {
    Shape found;
    *what = "wrong shape";
    if (!array_shape(a, &found, e)) return false;
    if (shape_equal(found, s)) return true;
    bool unsummed = shape_equal(found, v->files.run.y->shape), reversed = found.rank == s.rank && s.rank > 1;
    for (int i = 0; reversed && i < s.rank; i++) reversed = found.size[i] == s.size[s.rank - 1 - i];
    if (unsummed) *what = "broadcast sum missing";
    if (reversed) *what = "transposed";
    return error_set(
        e, STATUS_BAD_DATA, "%s: found shape %s, need %s%s", a->file, shape_text(found), shape_text(s),
        reversed   ? ": it is transposed"
        : unsummed ? ", the input's: found the output's, is the sum over the broadcast axes missing?"
                   : "");
}

/* The numbers in DIR/NAME.npy, in the case's memory, if they fit the array. NULL: `what` gets the word for
 * what is wrong with the file. */
static double *read_array(Verification *v, const CaseArray *want, Precision *precision, const char **what,
                          Error *e) {
    enum { MOST_HEADER = 1 << 14, WIDEST = 16 };
    char path[PATH_ROOM], file[CASE_FILE], *data;
    size_t size;
    Array a;
    *what = "not readable";
    snprintf(file, sizeof file, "%s.npy", want->name);
    if (!directory_file(path, v->directory, file, STATUS_NO_INPUT, e)) return NULL;
    if (access(path, F_OK) != 0 && errno == ENOENT) *what = "missing";
    /* A file longer than any array of this shape is not read into memory. */
    if (!file_read(path, MOST_HEADER + (size_t)shape_count(want->shape) * WIDEST, &data, &size, e) ||
        !npy_parse(&a, path, data, size, e))
        return NULL;
    double *x = NULL;
    *what = "wrong type";
    if (expected_precision(&a, precision, e) && fits(v, &a, want->shape, what, e)) {
        x = arena_alloc(&v->files.arena, (size_t)a.count * sizeof *x);
        array_to_double(&a, x);
    }
    array_free(&a);
    return x;
}

/* Reads an input or the upstream gradient. An input may be infinite, as a mask for softmax is. */
static bool read_given(Verification *v, const CaseArray *a) {
    Precision precision;
    const char *what;
    const double *x = read_array(v, a, &precision, &what, &v->input);
    for (long i = 0; x && i < shape_count(a->shape); i++) {
        a->value[i] = (real)x[i];
        if (!isfinite(x[i]) && !(a->role == CASE_INPUT && isinf(x[i])))
            return error_set(&v->input, STATUS_BAD_DATA,
                             "%s/%s.npy: element %ld: found %g, need a finite number", v->directory, a->name,
                             i, x[i]);
    }
    if (x && a->role == CASE_INPUT) point_restore(&v->files.point, a->input);
    return x;
}

/* ---- Judging ---- */

/* Whether all elements are right in single precision. */
static bool right_in_single(const Expected *x, const double *found) {
    for (long i = 0; i < x->count; i++)
        if (!expected_right(x, i, found[i], SINGLE)) return false;
    return true;
}

/* Diagnoses a wrong gradient: the right ones stand for the numeric derivatives. */
static void explain(CaseFiles *f, const CaseArray *wrong, const double *found, Precision precision,
                    InputReport *r) {
    const Expected *x = &wrong->expected;
    double allowed = CHECK_TOLERANCE * x->largest;
    for (long j = 0; j < x->count; j++) {
        allowed = fmax(allowed, expected_allowed(x, j, precision));
        if (!expected_right(x, j, found[j], precision)) x->proof->state[j] = ENTRY_WRONG;
    }
    Gradients g = {.run = &f->run,
                   .differences = &f->run,
                   .arena = &f->arena,
                   .outputs = f->outputs,
                   .cotangents = 1,
                   .cotangent = f->dy};
    for (const CaseArray *a = f->array; a < f->array + f->arrays; a++) {
        if (a->role != CASE_GRADIENT) continue;
        Entries *e = &g.element[a->input];
        size_t rows = (size_t)((1 + f->outputs) * a->expected.count) * sizeof *e->entry;
        *e = *a->expected.proof;
        e->entry = memcpy(arena_alloc(&f->arena, rows), e->entry, rows);
        e->whole = true;
        e->tolerance = x->largest > 0 ? allowed / x->largest : CHECK_TOLERANCE;
        for (long j = 0; j < e->coordinates; j++) {
            e->entry[j].numeric = a->expected.need[j];
            e->entry[j].analytic = a == wrong ? found[j] : a->expected.need[j];
            e->entry[j].estimate = 0;
        }
    }
    point_ready(&f->point, 0);
    check_run_forward(&f->run);
    gradcheck_diagnose(&g, wrong->input, r);
}

static void name_mistake(CaseFiles *f, const CaseArray *a, const double *found, Precision precision,
                         InputReport *r) {
    REPORT_SET(r->pattern, "unknown");
    if (precision == DOUBLE && right_in_single(&a->expected, found)) {
        REPORT_SET(r->pattern, "single precision");
        REPORT_SET(r->reason,
                   "right in single precision, too far off for a file in double: computed in single, or "
                   "with an approximation?");
    } else if (a->role == CASE_GRADIENT) {
        explain(f, a, found, precision, r);
    } else {
        REPORT_SET(r->reason, "not what the operation gives for the inputs in this directory");
    }
}

static void verify_array(Verification *v, const CaseArray *a) {
    CaseReport *report = v->report;
    InputReport *r = &report->in[report->inputs++];
    Precision precision;
    Error e = {0};
    const char *what;
    *r = (InputReport){.verdict = FAIL, .shape = a->shape};
    REPORT_SET(r->name, a->name);
    const double *found = read_array(v, a, &precision, &what, &e);
    if (!found) {
        REPORT_SET(r->pattern, what);
        REPORT_SET(r->reason, e.text);
    } else if (v->input.status != STATUS_DONE) {
        r->verdict = INCONCLUSIVE;
        REPORT_SET(r->reason, "not judged: an input is unusable");
    } else {
        expected_judge(&a->expected, found, precision, r);
        if (r->verdict == FAIL) name_mistake(&v->files, a, found, precision, r);
    }
    if (r->verdict > report->verdict) report->verdict = r->verdict;
    if (r->verdict == FAIL && !report->diagnosis[0]) REPORT_SET(report->diagnosis, r->pattern);
}

/* ---- The directory ---- */

/* The case as a whole cannot be judged. */
static void not_checked(CaseReport *report, const Error *e) {
    report->verdict = FAIL;
    REPORT_SET(report->trouble, e->text);
    REPORT_SET(report->diagnosis, "not checked");
}

/* Fills the report. False if the directory cannot be judged at all; the report's trouble says so as well:
 * STATUS_NO_INPUT (no such directory, no case.json) or STATUS_BAD_DATA (case.json is damaged, or names no
 * case). */
static bool verify_directory(const char *directory, CaseReport *report, Error *e) {
    Verification v = {.directory = directory, .report = report};
    CaseFiles *f = &v.files;
    Error own = {0};
    *report = (CaseReport){.by_reference = true};
    if (!open_case(&v, &own)) {
        not_checked(report, &own);
        REPORT_SET(report->op, ESCAPED(directory));
        REPORT_SET(report->name, "case.json");
        return error_set(e, own.status, "%s", own.text);
    }
    REPORT_SET(report->op, f->entry->op->name);
    REPORT_SET(report->name, f->c->name);
    report->kinks = f->c->kinks;
    report->outputs = f->outputs;
    bool ok = true;
    for (const CaseArray *a = f->array; a < f->array + f->arrays && ok; a++)
        if (a->role == CASE_UPSTREAM || (a->role == CASE_INPUT && case_has_file(f, a->input)))
            ok = read_given(&v, a);
    if (ok)
        case_expect(f);
    else
        not_checked(report, &v.input);
    for (const CaseArray *a = f->array; a < f->array + f->arrays; a++)
        if (a->role == CASE_OUTPUT || a->role == CASE_GRADIENT) verify_array(&v, a);
    report->evaluations = f->run.evaluations;
    case_close(f);
    return true;
}

/* ---- The command ---- */

static const char notes[] =
    "`gradcheck case` made DIR. y.npy and each dNAME.npy, float32 or float64, are compared with the output\n"
    "and the gradients of the operation at the inputs and the upstream gradient in DIR, up to rounding in\n"
    "the precision of the file. A missing or unreadable file fails; the other files are judged.\n";

void grading_command_verify(int argc, char **argv, Error *e) {
    ShowOptions how = {0};
    const Option table[] = {SHOW_OPTIONS(how), {0}};
    Options o = {"gradcheck verify",
                 "DIR...",
                 "Judges gradients that were written in another language.",
                 table,
                 notes,
                 .least = 1,
                 .most = INT_MAX};
    if (!options_parse(&o, argc, argv, e)) return;
    Show show;
    /* The first unusable directory decides the exit status. */
    Error unusable = {0}, verdict = {0};
    show_start(&show, &how);
    for (int i = 0; i < o.operands; i++) {
        CaseReport report;
        verify_directory(o.operand[i], &report, &unusable);
        show_report(&show, &report);
    }
    show_finish(&show, &verdict);
    bool judged = unusable.status == STATUS_DONE ||
                  (verdict.status != STATUS_NO && verdict.status != STATUS_INCONCLUSIVE);
    *e = judged ? verdict : unusable;
}
