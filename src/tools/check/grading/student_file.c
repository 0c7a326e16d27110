#include "check/grading/student_file.h"
#include "base/utf8.h"
#include "check/directories.h"
#include "check/grading/compile.h"
#include "check/sandbox.h"
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_OPS = 64 };

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
    char why[STUDENT_NAME + 64];
    Error e = {0};
    sandbox_enter(l->folder, &(SandboxNeeds){0});
    const Op *op = student_load(l->library, l->name[i], l->plan->cases, &e);
    if (!op) give_up("", e.text);
    snprintf(why, sizeof why, "has no check cases: found no CASES(…) in op_%s", l->name[i]);
    if (op->n_cases < 1) give_up("", why);
    listing_serve(l->name[i], op->cases, op->n_cases);
}

/* ---- What is given besides the file ---- */

/* Adds the cases of a library in the folder; the source has the names of its operations. */
static void add_cases(Plan *p, const char *source, const char *folder, const char *library,
                      Error *e) {
    char names[MAX_OPS][STUDENT_NAME];
    int count = student_names(source, names, MAX_OPS, e);
    Listing l = {p, folder, library, names};
    for (int i = 0; i < count; i++)
        listing_add(p, child_start(i, &p->limits, list_cases, &l), names[i]);
}

/* Writes the template of an operation; its cases call the student's function. */
static bool write_template(const char *path, const StudentFile *f, Error *e) {
    FILE *out = fopen(path, "w");
    if (!out) return error_set(e, STATUS_CANNOT_CREATE, "%s: cannot be written", path);
    bool ok = template_print(f->like, "c", f->headers, out, e);
    return fclose(out) == 0 && ok;
}

/* The path by which a library is loaded in this process and its children, which keep the file open
 * as number i. The library has no name any more where the system can do without. */
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
    p->given = true;
    p->cases = compile_given(p, f, cases, PLAN_CASES, TEACHERS_CASES, e);
    if (!p->cases) return false;
    add_cases(p, cases, f->folder, PLAN_CASES, &unfit);
    if (unfit.status) return error_set(e, STATUS_BAD_DATA, "%s: %s", cases, unfit.text);
    p->cases = keep_open(p, CASES, p->cases);
    if (!like || p->like) return true;
    p->reference = compile_given(p, f, like, "reference.so", TEACHERS, e);
    if (!p->reference) return false;
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
    if (p->cases && !file_copy(p->cases, NULL, f->folder, PLAN_CASES, e)) return false;
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

const CheckCase *student_case(const Plan *p, const char *name, int index, bool reference) {
    const char *solution = reference ? p->reference : PLAN_OWN,
               *cases = reference ? p->cases : PLAN_CASES, *whose = "";
    const Op *op = NULL;
    Error e = {0};
    if (!reference) sandbox_enter(p->folder, &(SandboxNeeds){0});
    if (!p->cases) {
        op = student_load(solution, name, false, &e);
    } else if (student_load_solution(solution, name, &e)) {
        op = student_load(cases, name, reference, &e);
        whose = reference ? "" : "the cases: ";
    }
    if (!op) give_up(whose, e.text);
    if (index >= op->n_cases) give_up(whose, "a case is missing");
    return &op->cases[index];
}
