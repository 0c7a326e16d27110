#include "check/grading/student_file.h"
#include "base/utf8.h"
#include "check/directories.h"
#include "check/grading/compile.h"
#include "check/sandbox.h"
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_OPS = 64 };

/* ---- Cases in the form in which a student's process sends them: everything except code ---- */

enum { NAME = 128, MAX_ELEMENTS = 1 << 22 };

/* A case as it is sent. The values of its inputs follow. */
typedef struct Record {
    CheckCase c; /* its pointers only tell whether there is something */
    char name[NAME], input[CHECK_INPUTS][NAME];
} Record;

void student_send_cases(const CheckCase *cases, int count) {
    for (const CheckCase *c = cases; c < cases + count; c++) {
        Record r = {.c = *c};
        snprintf(r.name, NAME, "%s", c->name);
        for (int k = 0; k < CHECK_INPUTS && c->in[k].name; k++)
            snprintf(r.input[k], NAME, "%s", c->in[k].name);
        child_send(&r, sizeof r);
        for (int k = 0; k < CHECK_INPUTS && c->in[k].name; k++)
            if (c->in[k].values)
                child_send(c->in[k].values, (size_t)shape_count(c->in[k].shape) * sizeof(double));
    }
}

/* Whether a received bool is valid: reading another value is undefined. */
static bool is_bool(const bool *told) {
    unsigned char byte;
    memcpy(&byte, told, 1);
    return byte <= 1;
}

/* Checks input k, and takes its values at *at. */
static bool take_input(CheckInput *in, int k, const char **at, const char *end, Arena *arena) {
    long count;
    bool fits = in->shape.rank >= 0 && in->shape.rank <= MAX_RANK &&
                shape_fits(in->shape.rank, in->shape.size, sizeof(real), &count) &&
                count <= MAX_ELEMENTS && (int)in->layout >= CONTIGUOUS && in->layout <= REPEATED &&
                in->same_as >= 0 && in->same_as <= k && isfinite(in->low) && isfinite(in->high) &&
                isfinite(in->away_from) && isfinite(in->margin) && is_bool(&in->distinct) &&
                is_bool(&in->constant);
    if (!fits || !in->values) return fits;
    size_t bytes = (size_t)count * sizeof(double);
    if (bytes > (size_t)(end - *at)) return false;
    in->values = memcpy(arena_alloc(arena, bytes), *at, bytes);
    *at += bytes;
    return true;
}

bool student_take_case(const char **at, const char *end, CheckCase *c, Arena *arena) {
    Record *r = arena_alloc(arena, sizeof *r);
    if ((size_t)(end - *at) < sizeof *r) return false;
    memcpy(r, *at, sizeof *r);
    *at += sizeof *r;
    if (!is_bool(&r->c.kinks) || !is_bool(&r->c.flat)) return false;
    if (!isfinite(r->c.points)) r->c.points = 0;
    r->c.name = r->name, r->name[NAME - 1] = 0;
    r->c.build = NULL;
    for (int k = 0; k < CHECK_INPUTS && r->c.in[k].name; k++) {
        r->c.in[k].name = r->input[k], r->input[k][NAME - 1] = 0;
        if (!take_input(&r->c.in[k], k, at, end, arena)) return false;
    }
    *c = r->c;
    return true;
}

/* ---- A process loads a library and sends its cases ---- */

/* Ends the process; its last line says why. */
static _Noreturn void give_up(const char *whose, const char *why) {
    printf("%s%s\n", whose, why);
    fflush(stdout);
    _exit(STATUS_BUG);
}

typedef struct Listing {
    Plan *plan;
    const char *folder, *library;
    char (*name)[STUDENT_NAME];
} Listing;

static void list_cases(void *context, long i) {
    const Listing *l = context;
    Error e = {0};
    sandbox_enter(l->folder, &(SandboxNeeds){0});
    const Op *op = student_load(l->library, l->name[i], l->plan->cases, &e);
    if (!op) give_up("", e.text);
    student_send_cases(op->cases, op->n_cases);
}

static void take_listing(void *context, long i, const ChildEnd *end) {
    const Listing *l = context;
    const char *at = end->result;
    char text[CHILD_TEXT];
    CheckCase c;
    long first = l->plan->items;
    const char *last = end->result + end->size;
    for (int k = 0; k < PLAN_CASES_MAX && student_take_case(&at, last, &c, &l->plan->arena); k++) {
        PlanItem *item = plan_item(l->plan, l->name[i], c.name, k);
        utf8_make_printable(item->name, "");
        item->c = c;
    }
    bool whole = at == last;
    if (end->fate == CHILD_DONE && end->size && whole) {
        if (!l->plan->cases) plan_add_made(l->plan, first);
        return;
    }
    PlanItem *bad =
        plan_item(l->plan, l->name[i], end->fate == CHILD_DONE ? "cases" : "loading", -1);
    if (!whole)
        snprintf(bad->trouble, REPORT_TEXT,
                 "found more than %d cases, one of more than %d elements, or numbers that are none",
                 PLAN_CASES_MAX, MAX_ELEMENTS);
    else if (end->fate == CHILD_DONE)
        snprintf(bad->trouble, REPORT_TEXT, "has no check cases: found no CASES(…) in op_%s",
                 l->name[i]);
    else
        snprintf(bad->trouble, REPORT_TEXT, "%s%s", child_text(text, end, &l->plan->limits),
                 end->number == STATUS_BUG ? "" : " while it was loaded");
    utf8_make_printable(bad->trouble, "");
}

/* ---- What is given besides the file ---- */

/* Adds the cases of a library in the folder; the source has the names of its operations. */
static void add_cases(Plan *p, const char *source, const char *folder, const char *library,
                      Error *e) {
    char names[MAX_OPS][STUDENT_NAME];
    int count = student_names(source, names, MAX_OPS, e);
    Listing l = {p, folder, library, names};
    child_run_all(count, 1, &p->limits, list_cases, take_listing, &l);
}

/* Writes the template of an operation; its cases call the student's function. */
static bool write_template(const char *path, const StudentFile *f, Error *e) {
    FILE *out = fopen(path, "w");
    if (!out) return error_set(e, STATUS_CANNOT_CREATE, "%s: cannot be written", path);
    bool ok = template_print(f->like, "c", f->headers, out, e);
    return fclose(out) == 0 && ok;
}

/* The path by which a library is loaded in this process and its children, which keep the file open as
 * number i. The library has no name any more where the system can do without. */
static const char *keep_open(Plan *p, int i, const char *library) {
    char path[32];
    p->keep[i] = open(library, O_RDONLY | O_CLOEXEC);
    snprintf(path, sizeof path, "/proc/self/fd/%d", p->keep[i]);
    if (access(path, R_OK) != 0) return library;
    unlink(library);
    return plan_text(p, path, NULL);
}

/* Compiles a teacher's file in the folder; returns the library. NULL: as plan_add_given. */
static const char *compile_given(Plan *p, const StudentFile *f, const char *source,
                                 const char *library, StudentKind kind, Error *e) {
    StudentSource s = {source, plan_text(p, f->folder, library), file_name(source), kind};
    if (student_compile(&s, f->headers)) return s.library;
    if (s.error.status == STATUS_NO)
        error_set(e, STATUS_BAD_DATA, "%s: %s", source, s.error.text);
    else
        *e = s.error;
    return NULL;
}

enum { CASES, REFERENCE }; /* in p->keep */

bool student_add_given(Plan *p, const StudentFile *f, Error *e) {
    const OpEntry *entry = f->like ? ops_find(f->like) : NULL;
    const char *like = f->like, *cases = f->cases ? f->cases : f->like;
    char name[STUDENT_NAME + 8];
    Error unfit = {0};
    if (!cases) return true;
    if (entry) {
        snprintf(name, sizeof name, "core/ops/%s.c", f->like);
        like = plan_text(p, f->headers, name);
    }
    if (entry && !f->cases) {
        p->like = entry->op;
        cases = plan_text(p, f->folder, "cases.c");
        if (!write_template(cases, f, e)) return false;
    }
    if (!(p->cases = compile_given(p, f, cases, PLAN_CASES, TEACHERS_CASES, e))) return false;
    add_cases(p, cases, f->folder, PLAN_CASES, &unfit);
    if (unfit.status) return error_set(e, STATUS_BAD_DATA, "%s: %s", cases, unfit.text);
    p->cases = keep_open(p, CASES, p->cases);
    if (!like || p->like) return true;
    if (!(p->reference = compile_given(p, f, like, "reference.so", TEACHERS, e))) return false;
    p->reference = keep_open(p, REFERENCE, p->reference);
    return true;
}

/* ---- The file ---- */

/* Compiles the file; *own gets the reason if it cannot be loaded, and `why` the whole of it. */
static void compile_own(Plan *p, StudentFile *f, Error *own, char why[REPORT_FULL]) {
    const char *hidden[] = {f->cases ? f->cases : f->like, f->cases ? f->like : NULL, NULL};
    StudentSource s = {f->source, plan_text(p, f->folder, PLAN_OWN), f->name, STUDENTS,
                       hidden,    f->solution ? f->headers : NULL};
    student_compile(&s, f->readable);
    *own = s.error;
    memcpy(why, s.message, sizeof s.message);
    memcpy(f->warnings, s.warnings, sizeof f->warnings);
}

bool student_add_file(Plan *p, StudentFile *f, Error *e) {
    char why[REPORT_FULL];
    Error own;
    p->folder = f->folder;
    if (p->cases && !file_copy(p->cases, f->folder, PLAN_CASES, e)) return false;
    compile_own(p, f, &own, why);
    if (!p->cases && own.status == STATUS_DONE) add_cases(p, f->source, f->folder, PLAN_OWN, &own);
    if (own.status == STATUS_DONE) return true;
    if (!p->items) { /* one that stands for all is named after the file */
        PlanItem *item = plan_item(p, f->name, "compiling", -1);
        char *dot = strrchr(item->op, '.');
        if (dot) *dot = 0;
    }
    for (long i = 0; i < p->items; i++) {
        p->item[i].index = -1;
        REPORT_SET(p->item[i].trouble, *why ? why : own.text);
    }
    return own.status == STATUS_NO || error_set(e, own.status, "%s", own.text);
}

/* ---- In the processes that run a case ---- */

/* Case i of an operation; ends the process if there is none. */
static const CheckCase *case_of(const Op *op, int i, const char *whose, const Error *e) {
    if (!op || i >= op->n_cases) give_up(whose, op ? "a case is missing" : e->text);
    return &op->cases[i];
}

const CheckCase *student_case(const Plan *p, const char *name, int index) {
    Error e = {0};
    sandbox_enter(p->folder, &(SandboxNeeds){0});
    bool loaded = !p->cases || student_load_solution(PLAN_OWN, name, &e);
    const Op *op = loaded ? student_load(p->cases ? PLAN_CASES : PLAN_OWN, name, false, &e) : NULL;
    return case_of(op, index, p->cases && loaded ? "the cases: " : "", &e);
}

const CheckCase *student_reference_case(const Plan *p, const char *name, int index) {
    Error e = {0};
    bool loaded = student_load_solution(p->reference, name, &e);
    return case_of(loaded ? student_load(p->cases, name, true, &e) : NULL, index, "", &e);
}
