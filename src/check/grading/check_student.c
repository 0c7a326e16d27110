#include "base/random.h"
#include "base/utf8.h"
#include "check/grading/check_cases.h"
#include "check/sandbox.h"
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_OPS = 64 };

/* ---- Cases that the checker adds ---- */

/* Changes every axis of one size to another size, so that products and broadcasts still fit. False: no
 * axis has that size. */
static bool resize(CheckCase *c, long from, long to) {
    bool any = false;
    for (int k = 0; k < CHECK_INPUTS && c->in[k].name; k++)
        for (int axis = 0; axis < c->in[k].shape.rank; axis++)
            if (c->in[k].shape.size[axis] == from) c->in[k].shape.size[axis] = to, any = true;
    return any;
}

static void add_changed(CheckPlan *p, const CheckItem *base, const CheckCase *c, const char *how) {
    char name[REPORT_NAME];
    snprintf(name, sizeof name, "%.90s, %.30s", base->name, how);
    CheckItem *item = plan_item(p, base->op, name, base->index);
    item->c = *c, item->added = true;
}

static void add_larger(CheckPlan *p, const CheckItem *base, double factor, const char *how) {
    CheckCase c = base->c;
    bool any = false;
    for (CheckInput *in = c.in; in < c.in + CHECK_INPUTS && in->name; in++) {
        if (in->values) continue;
        in->low *= factor, in->high *= factor;
        in->distinct = true; /* some values lie near the ends */
        any = true;
    }
    c.flat = true; /* functions saturate at large values */
    if (any) add_changed(p, base, &c, how);
}

/* Negates an input whose range has one sign. If several have, one may have to be larger than another. */
static void add_other_sign(CheckPlan *p, const CheckItem *base) {
    CheckCase c = base->c;
    int signed_inputs = 0;
    for (CheckInput *in = c.in; in < c.in + CHECK_INPUTS && in->name; in++) {
        double low = in->low;
        if (in->values || low * in->high < 0) continue;
        in->low = -in->high, in->high = -low, in->away_from = -in->away_from;
        signed_inputs++;
    }
    if (signed_inputs == 1) add_changed(p, base, &c, "other sign");
}

/* Sets some elements of each input to 0 where its range allows it, never in two inputs at once. */
static void add_zeros(CheckPlan *p, const CheckItem *base) {
    const uint64_t stream = 0x2E05;
    CheckCase c = base->c;
    int inputs = 0, zeroed = 0;
    while (inputs < CHECK_INPUTS && c.in[inputs].name) inputs++;
    for (int k = 0; k < inputs; k++) {
        CheckInput *in = &c.in[k];
        long count = shape_count(in->shape);
        if (in->values || in->low * in->high >= 0 || in->margin > 0 || in->distinct || in->same_as) continue;
        double *v = arena_alloc(&p->arena, (size_t)count * sizeof *v);
        for (long i = 0; i < count; i++) {
            double u = (double)random_uniform(random_key(stream, (uint64_t)k), (uint64_t)i);
            bool zero = random_below(random_key(stream, CHECK_INPUTS), (uint64_t)i, inputs + 2) == k;
            v[i] = zero ? 0 : in->low + (in->high - in->low) * u;
        }
        in->values = v, in->layout = CONTIGUOUS;
        zeroed++;
    }
    c.kinks = true;
    if (zeroed) add_changed(p, base, &c, "zeros among the values");
}

/* Adds cases with size 0, 1 and a large size in place of each size. */
static void add_sizes(CheckPlan *p, const CheckItem *base) {
    enum { MOST_SIZE = 12, LARGE_SIZE = 11 };
    static const long other[] = {1, 0, LARGE_SIZE};
    char how[REPORT_NAME];
    for (long size = 2; size <= MOST_SIZE; size++)
        for (size_t to = 0; to < sizeof other / sizeof *other; to++) {
            CheckCase c = base->c;
            snprintf(how, sizeof how, "size %ld for %ld", other[to], size);
            if (size != other[to] && resize(&c, size, other[to])) add_changed(p, base, &c, how);
        }
}

void plan_add_made(CheckPlan *p, long first) {
    long plain = -1, drawn = -1;
    for (long i = p->items - 1; i >= first; i--) {
        const CheckCase *c = &p->item[i].c;
        bool fits = !c->kinks && !c->flat, values = false;
        for (int k = 0; k < CHECK_INPUTS && c->in[k].name; k++) {
            values |= c->in[k].values != NULL;
            fits &= shape_count(c->in[k].shape) > 0;
        }
        if (fits) drawn = i;
        if (fits && !values) plain = i;
    }
    if (drawn < 0) return;
    CheckItem base = p->item[plain >= 0 ? plain : drawn]; /* the plan's items move as it grows */
    for (CheckInput *in = base.c.in; in < base.c.in + CHECK_INPUTS && in->name; in++)
        if (in->low == 0 && in->high == 0) in->low = -2, in->high = 2; /* the default */
    if (plain >= 0) add_sizes(p, &base);
    add_larger(p, &base, 2, "larger values");
    add_larger(p, &base, 8, "much larger values");
    add_other_sign(p, &base);
    add_zeros(p, &base);
}

/* ---- A process loads a library and sends its cases ---- */

typedef struct Listing {
    CheckPlan *plan;
    const char *folder, *library;
    char (*name)[STUDENT_NAME];
} Listing;

static void list_cases(void *context, long i) {
    const Listing *l = context;
    Error e = {0};
    sandbox_enter(l->folder, &(SandboxNeeds){0});
    const Op *op = student_load(l->library, l->name[i], l->plan->cases, &e);
    if (!op) {
        printf("%s\n", e.text);
        exit(STATUS_NO);
    }
    student_send_cases(op->cases, op->n_cases);
}

static void take_listing(void *context, long i, const ChildEnd *end) {
    const Listing *l = context;
    const char *at = end->result;
    char text[CHILD_TEXT];
    CheckCase c;
    long first = l->plan->items;
    for (int k = 0; student_take_case(&at, end->result + end->size, &c, &l->plan->arena); k++) {
        CheckItem *item = plan_item(l->plan, l->name[i], c.name, k);
        utf8_make_printable(item->name, "");
        item->c = c;
    }
    if (end->fate == CHILD_DONE && end->size) {
        if (!l->plan->cases) plan_add_made(l->plan, first);
        return;
    }
    CheckItem *bad = plan_item(l->plan, l->name[i], end->fate == CHILD_DONE ? "cases" : "loading", -1);
    if (end->fate == CHILD_DONE)
        snprintf(bad->trouble, REPORT_TEXT, "has no check cases: found no CASES(…) in op_%s", l->name[i]);
    else if (end->fate == CHILD_EXITED && end->number == STATUS_NO)
        child_last_line(bad->trouble, REPORT_TEXT, end->printed);
    else
        snprintf(bad->trouble, REPORT_TEXT, "%s while it was loaded",
                 child_text(text, end, &l->plan->limits));
    utf8_make_printable(bad->trouble, "");
}

/* ---- What is given besides the file ---- */

static const char *path_in(CheckPlan *p, const char *folder, const char *name) {
    size_t size = strlen(folder) + strlen(name) + 2;
    char *path = arena_alloc(&p->arena, size);
    snprintf(path, size, "%s/%s", folder, name);
    return path;
}

/* Adds the cases of a library in the folder; the source has the names of its operations. */
static void add_cases(CheckPlan *p, const char *source, const char *folder, const char *library, Error *e) {
    char names[MOST_OPS][STUDENT_NAME];
    int count = student_names(source, names, MOST_OPS, e);
    Listing l = {p, folder, library, names};
    child_run_all(count, 1, &p->limits, list_cases, take_listing, &l);
}

/* Writes the template of an operation; its cases call the student's function. */
static bool write_template(const char *path, const StudentFile *f, Error *e) {
    FILE *out = fopen(path, "w");
    if (!out) return error_set(e, STATUS_CANNOT_CREATE, "%s: cannot be written", path);
    bool ok = template_print(f->like, f->headers, out, e);
    return fclose(out) == 0 && ok;
}

/* The path by which a library is loaded in this process and its children, which keep the file open as
 * number i. The library has no name any more where the system can do without. */
static const char *keep_open(CheckPlan *p, int i, const char *library) {
    p->keep[i] = open(library, O_RDONLY | O_CLOEXEC);
    const char *path = sandbox_open_path(p->keep[i]);
    if (!path) return library;
    unlink(library);
    return strcpy(arena_alloc(&p->arena, strlen(path) + 1), path);
}

/* Compiles a teacher's file in the folder; returns the library. NULL: as plan_add_given. */
static const char *compile_given(CheckPlan *p, const StudentFile *f, const char *source, const char *library,
                                 StudentKind kind, Error *e) {
    StudentSource s = {source, path_in(p, f->folder, library), kind};
    if (student_compile(&s, f->headers)) return s.library;
    if (s.error.status == STATUS_NO)
        error_set(e, STATUS_BAD_DATA, "%s: %s", source, s.error.text);
    else
        *e = s.error;
    return NULL;
}

enum { CASES, REFERENCE }; /* in p->keep */

bool plan_add_given(CheckPlan *p, const StudentFile *f, Error *e) {
    const OpEntry *entry = f->like ? ops_find(f->like) : NULL;
    const char *like = f->like, *cases = f->cases ? f->cases : f->like;
    char name[STUDENT_NAME + 8];
    Error unfit = {0};
    if (!cases) return true;
    if (entry) {
        snprintf(name, sizeof name, "ops/%s.c", f->like);
        like = path_in(p, f->headers, name);
    }
    if (entry && !f->cases) {
        p->like = entry->op;
        cases = path_in(p, f->folder, "cases.c");
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

/* Copies the cases into the folder of the file. */
static bool copy_cases(const CheckPlan *p, const StudentFile *f, Error *e) {
    char path[PATH_ROOM], block[1 << 14];
    ssize_t n;
    if (!p->cases) return true;
    if (!directory_file(path, f->folder, PLAN_CASES, STATUS_CANNOT_CREATE, e)) return false;
    int to = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0500);
    bool ok = to >= 0;
    for (off_t at = 0; ok && (n = pread(p->keep[CASES], block, sizeof block, at)) > 0; at += n)
        ok = write(to, block, (size_t)n) == n;
    if (to >= 0) close(to);
    return ok || error_set(e, STATUS_CANNOT_CREATE, "%s: cannot be written", path);
}

/* Compiles the file; *own gets the reason if it cannot be loaded, and `why` the whole of it. */
static void compile_own(CheckPlan *p, StudentFile *f, Error *own, char why[REPORT_FULL]) {
    const char *hidden[] = {f->cases ? f->cases : f->like, f->cases ? f->like : NULL, NULL};
    StudentSource s = {f->source, path_in(p, f->folder, PLAN_OWN), STUDENTS, hidden};
    student_compile(&s, f->headers);
    *own = s.error;
    memcpy(why, s.message, sizeof s.message);
    memcpy(f->warnings, s.warnings, sizeof f->warnings);
    char *included = own->status ? NULL : student_includes(&s, f->solution ? f->headers : NULL);
    if (included) error_set(own, STATUS_NO, "is no solution: it includes %s", included);
    free(included);
}

bool plan_add_file(CheckPlan *p, StudentFile *f, Error *e) {
    const char *slash = strrchr(f->source, '/');
    char why[REPORT_FULL];
    Error own;
    p->folder = f->folder;
    if (!copy_cases(p, f, e)) return false;
    compile_own(p, f, &own, why);
    if (!p->cases && own.status == STATUS_DONE) add_cases(p, f->source, f->folder, PLAN_OWN, &own);
    if (own.status == STATUS_DONE) return true;
    if (!p->items) { /* one that stands for all is named after the file */
        CheckItem *item = plan_item(p, slash ? slash + 1 : f->source, "compiling", -1);
        char *dot = strrchr(item->op, '.');
        if (dot) *dot = 0;
    }
    for (long i = 0; i < p->items; i++) {
        p->item[i].index = -1;
        REPORT_SET(p->item[i].trouble, *why ? why : own.text);
    }
    return own.status == STATUS_NO || error_set(e, own.status, "%s", own.text);
}
