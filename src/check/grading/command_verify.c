/* Judges what a student wrote beside a check case (case_files.h): the output, and the gradient of each input.
 *
 * The reference is computed anew from the inputs and the upstream gradient in the directory, by the built-in
 * operation, and its gradient there is proved by differences like any other (gradcheck.h). A file may be off
 * by what rounding in its own precision explains (case_reference.h). On a kink a gradient may be anything
 * between the one-sided derivatives.
 *
 * Each part that is wrong, is missing or cannot be read has a verdict of its own; the others are judged
 * all the same. */
#include "base/directory.h"
#include "base/file.h"
#include "base/options.h"
#include "base/utf8.h"
#include "check/gradcheck/diagnosis.h"
#include "check/gradcheck/rounding.h"
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
    Reference reference;
    CaseReport *report;
    Error input; /* why the inputs are unusable; then values cannot be judged */
} Verification;

/* ---- case.json ---- */

/* Reads a string of at most REPORT_NAME - 1 bytes; otherwise false with STATUS_BAD_DATA. */
static bool take_text(Json *j, char out[REPORT_NAME]) {
    JsonString s;
    if (!json_string(j, &s)) return false;
    if (s.length >= REPORT_NAME || strlen(s.text) != s.length)
        return json_fail(j, "found a name of %zu bytes, need fewer than %d", s.length, REPORT_NAME);
    strcpy(out, s.text);
    return true;
}

static bool read_case(const char *path, char op[REPORT_NAME], char name[REPORT_NAME], Error *e) {
    enum { LIMIT = 1 << 20 };
    char *text;
    size_t size;
    if (!file_read(path, LIMIT, &text, &size, e)) return false;
    Json j = json_over(path, text, size, e);
    JsonString key;
    *op = *name = 0;
    for (json_enter(&j, '{'); json_member(&j, &key);) {
        if (strcmp(key.text, "operation") == 0)
            take_text(&j, op);
        else if (strcmp(key.text, "case") == 0)
            take_text(&j, name);
        else
            json_skip(&j);
    }
    bool ok = json_end(&j);
    free(text);
    return ok;
}

static bool open_case(Verification *v, Error *e) {
    char path[PATH_ROOM], op[REPORT_NAME], name[REPORT_NAME];
    if (!directory_file(path, v->directory, "case.json", STATUS_NO_INPUT, e) || !read_case(path, op, name, e))
        return false;
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

/* ---- Arrays ---- */

/* DIR/NAME.npy, if it holds floating-point numbers in this shape; `what` gets the word for what is wrong
 * with it. To be freed with array_free. */
static bool read_array(const Verification *v, const char *name, Shape s, Array *a, const char **what,
                       Error *e) {
    enum { MOST_HEADER = 1 << 14, WIDEST = 16 };
    char path[PATH_ROOM], file[CASE_FILE], *data;
    size_t size;
    Shape found;
    *a = (Array){0};
    *what = "not readable";
    snprintf(file, sizeof file, "%s.npy", name);
    if (!directory_file(path, v->directory, file, STATUS_NO_INPUT, e)) return false;
    if (access(path, F_OK) != 0 && errno == ENOENT) *what = "missing";
    /* A file longer than any array of this shape is not read into memory. */
    if (!file_read(path, MOST_HEADER + (size_t)shape_count(s) * WIDEST, &data, &size, e) ||
        !npy_parse(a, path, data, size, e))
        return false;
    if (a->dtype != DTYPE_F32 && a->dtype != DTYPE_F64) {
        *what = "wrong type";
        return error_set(e, STATUS_BAD_DATA, "%s: found numbers of type %s, need F32 or F64", path,
                         dtype_name(a->dtype));
    }
    *what = "wrong shape";
    if (!array_shape(a, &found, e)) return false;
    if (shape_equal(found, s)) return true;
    Shape y = v->files.run.y->shape;
    bool reversed = found.rank == s.rank && s.rank > 1;
    for (int i = 0; reversed && i < s.rank; i++) reversed = found.size[i] == s.size[s.rank - 1 - i];
    bool unsummed = shape_equal(found, y);
    if (unsummed) *what = "broadcast sum missing";
    if (reversed) *what = "transposed";
    return error_set(
        e, STATUS_BAD_DATA, "%s: found shape %s, need %s%s", path, shape_text(found), shape_text(s),
        reversed   ? ": it is transposed"
        : unsummed ? ", the input's: found the output's, is the sum over the broadcast axes missing?"
                   : "");
}

/* Copies the elements into the case's memory and frees the array. */
static double *take_array(Verification *v, Array *a) {
    double *x = arena_alloc(&v->files.arena, (size_t)a->count * sizeof *x);
    array_to_double(a, x);
    array_free(a);
    return x;
}

static bool read_given(Verification *v, const char *name, Shape s, real *x, bool infinite, Error *e) {
    Array a;
    const char *what;
    bool ok = read_array(v, name, s, &a, &what, e);
    if (ok) {
        double *values = take_array(v, &a);
        for (long i = 0; ok && i < shape_count(s); i++) {
            x[i] = (real)values[i];
            ok = isfinite(values[i]) || (infinite && isinf(values[i])) ||
                 error_set(e, STATUS_BAD_DATA, "%s/%s.npy: element %ld: found %g, need a finite number",
                           v->directory, name, i, values[i]);
        }
    }
    array_free(&a);
    return ok;
}

/* Reads the inputs and the upstream gradient from the directory. Inputs may be infinite, as masks for
 * softmax are. */
static void read_inputs(Verification *v) {
    CaseFiles *f = &v->files;
    bool ok = true;
    for (int k = 0; ok && k < f->point.inputs; k++) {
        if (!case_has_file(f, k)) continue;
        PointInput *in = &f->point.in[k];
        ok = read_given(v, in->name, in->shape, in->value, true, &v->input);
        if (ok) point_restore(&f->point, k);
    }
    if (ok) read_given(v, "dy", f->run.y->shape, f->dy, false, &v->input);
}

/* ---- Judging ---- */

static bool is_right(double found, double need, double allowed) {
    return rounding_same(found, need, allowed) && !isnan(found);
}

/* Whether all elements are right in single precision. */
static bool right_in_single(const ReferencePart *p, const double *found) {
    for (long i = 0; i < p->count; i++)
        if (!is_right(found[i], reference_need(p, i, found[i]), reference_allowed(p, i, SINGLE)))
            return false;
    return true;
}

/* Diagnoses a wrong gradient. */
static void explain(Verification *v, ReferencePart *p, const double *found, double tolerance,
                    InputReport *r) {
    Reference *ref = &v->reference;
    CaseFiles *f = &v->files;
    Gradients g = {.run = &f->run,
                   .differences = &f->run,
                   .arena = &f->arena,
                   .outputs = f->outputs,
                   .cotangents = 1,
                   .cotangent = f->dy};
    Entries *all = g.element;
    for (int k = 1; k < ref->parts; k++) {
        Entries *e = &all[ref->part[k].input];
        *e = ref->part[k].entries;
        e->whole = true;
        e->tolerance = fmax(CHECK_TOLERANCE, tolerance);
        for (long j = 0; j < e->coordinates; j++) {
            e->entry[j].analytic = e->entry[j].numeric = ref->part[k].need[j];
            e->entry[j].estimate = 0;
        }
    }
    Entries *e = &all[p->input];
    for (long j = 0; j < p->count; j++) e->entry[j].analytic = found[j];
    point_ready(&f->point, 0);
    check_run_forward(&f->run);
    gradcheck_diagnose(&g, p->input, 0, r);
    for (long j = 0; j < p->count; j++) e->entry[j].analytic = p->need[j];
}

/* Why the reference is unproved. */
static const char *unproved(EntryState state, double need) {
    if (!isfinite(need)) return "the right value is not a finite number";
    return state == ENTRY_WRONG ? "the built-in gradient itself fails its check here"
                                : "the reference cannot be proved by differences at this point";
}

static void judge(Verification *v, ReferencePart *p, const double *found, Precision precision,
                  InputReport *r) {
    double gravest = -1, largest = 0, tolerance = 0;
    const char *doubt = "";
    for (long i = 0; i < p->count; i++)
        if (isfinite(p->need[i])) largest = fmax(largest, fabs(p->need[i]));
    r->coordinates = p->count;
    for (long i = 0; i < p->count; i++) {
        double need = reference_need(p, i, found[i]), allowed = reference_allowed(p, i, precision);
        double off = fabs(found[i] - need), size = fmax(fabs(need), fabs(found[i]));
        EntryState state = p->input < 0 ? ENTRY_PROVED : p->entries.state[i];
        bool right = is_right(found[i], need, allowed), known = isfinite(need) && state <= ENTRY_KINK;
        r->wrong += known && !right;
        r->unclear += !known;
        r->flat += known && right && state == ENTRY_FLAT;
        if (known && right && state == ENTRY_KINK && !r->kinks++) {
            r->kink = i, r->kink_output = -1;
            r->kink_below = p->entries.entry[i].below, r->kink_above = p->entries.entry[i].above;
        }
        if (!known) doubt = unproved(state, need);
        if (largest > 0) tolerance = fmax(tolerance, allowed / largest);
        /* The worst entry: wrong before unclear before right, then the largest error relative to the
         * allowed one. */
        double gravity = isfinite(off) ? 1 - 1 / (1 + off / allowed) : found[i] == need ? 0 : 1;
        gravity += known && !right ? 4 : !known ? 2 : 0;
        if (!(gravity > gravest)) continue;
        gravest = gravity;
        r->element = i, r->output = -1;
        r->analytic = found[i], r->numeric = need, r->estimate = allowed;
        r->error = off == 0 ? 0 : off / (known && !right ? size : fmax(size, largest));
    }
    r->verdict = r->wrong ? FAIL : r->unclear ? INCONCLUSIVE : PASS;
    if (r->verdict == INCONCLUSIVE) REPORT_SET(r->reason, doubt);
    if (r->verdict != FAIL) return;
    REPORT_SET(r->pattern, "unknown");
    if (precision == DOUBLE && right_in_single(p, found)) {
        REPORT_SET(r->pattern, "single precision");
        REPORT_SET(
            r->reason,
            "right in single precision, too far off for a file in double: computed in single, or with an "
            "approximation?");
    } else if (p->input >= 0) {
        for (long i = 0; i < p->count; i++)
            if (!is_right(found[i], reference_need(p, i, found[i]), reference_allowed(p, i, precision)))
                p->entries.state[i] = ENTRY_WRONG;
        explain(v, p, found, tolerance, r);
    } else {
        REPORT_SET(r->reason, "not what the operation gives for the inputs in this directory");
    }
}

static void verify_part(Verification *v, ReferencePart *p) {
    CaseReport *report = v->report;
    InputReport *r = &report->in[report->inputs++];
    *r = (InputReport){.verdict = FAIL, .shape = p->shape};
    REPORT_SET(r->name, p->name);
    Array a;
    Error e = {0};
    const char *what;
    if (!read_array(v, p->name, p->shape, &a, &what, &e)) {
        REPORT_SET(r->pattern, what);
        REPORT_SET(r->reason, e.text);
    } else if (v->input.status != STATUS_DONE) {
        r->verdict = INCONCLUSIVE;
        REPORT_SET(r->reason, "not judged: an input is unusable");
    } else {
        Precision precision = a.dtype == DTYPE_F32 ? SINGLE : DOUBLE;
        judge(v, p, take_array(v, &a), precision, r);
    }
    array_free(&a);
    if (r->verdict > report->verdict) report->verdict = r->verdict;
    if (r->verdict == FAIL && !report->diagnosis[0]) REPORT_SET(report->diagnosis, r->pattern);
}

/* ---- The directory ---- */

/* Fills the report. False if the directory cannot be judged at all; the report's trouble says so as well:
 * STATUS_NO_INPUT (no such directory, no case.json) or STATUS_BAD_DATA (case.json is damaged, or names no case). */
static bool verify_directory(const char *directory, CaseReport *report, Error *e) {
    Verification v = {.directory = directory, .report = report};
    Error own = {0};
    *report = (CaseReport){.by_reference = true};
    if (!open_case(&v, &own)) {
        report->verdict = FAIL;
        REPORT_SET(report->op, ESCAPED(directory));
        REPORT_SET(report->name, "case.json");
        REPORT_SET(report->trouble, own.text);
        REPORT_SET(report->diagnosis, "not checked");
        return error_set(e, own.status, "%s", own.text);
    }
    REPORT_SET(report->op, v.files.entry->op->name);
    REPORT_SET(report->name, v.files.c->name);
    report->kinks = v.files.c->kinks;
    reference_list(&v.reference, &v.files);
    report->outputs = v.files.outputs;
    read_inputs(&v);
    if (v.input.status == STATUS_DONE) {
        reference_compute(&v.reference);
    } else {
        report->verdict = FAIL;
        REPORT_SET(report->trouble, v.input.text);
        REPORT_SET(report->diagnosis, "not checked");
    }
    for (int i = 0; i < v.reference.parts; i++) verify_part(&v, &v.reference.part[i]);
    report->evaluations = v.files.run.evaluations;
    case_close(&v.files);
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
