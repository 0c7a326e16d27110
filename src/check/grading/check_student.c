#include "check/grading/check_student.h"
#include "base/random.h"
#include "base/utf8.h"
#include "check/grading/op_source.h"
#include "check/grading/student_case.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_OPS = 64 };

/* ---- A child loads the file and tells the names of its cases ---- */

typedef struct Listing {
    CheckPlan *plan;
    const char *library;
    char (*name)[STUDENT_NAME];
} Listing;

static void list_cases(void *context, long i) {
    const Listing *l = context;
    Error e = {0};
    const Op *op = student_load(l->library, l->name[i], l->plan->cases != NULL, &e);
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
    for (int k = 0; student_take_case(&at, end->result + end->size, &c, &l->plan->arena); k++) {
        CheckItem *item = plan_item(l->plan, l->name[i], c.name, k);
        utf8_make_printable(item->name);
        item->c = c;
    }
    if (end->fate == CHILD_DONE && end->size) return;
    CheckItem *bad = plan_item(l->plan, l->name[i], end->fate == CHILD_DONE ? "cases" : "loading", -1);
    if (end->fate == CHILD_DONE)
        snprintf(bad->trouble, REPORT_TEXT, "has no check cases: found no CASES(…) in op_%s", l->name[i]);
    else if (end->fate == CHILD_EXITED && end->number == STATUS_NO)
        child_last_line(bad->trouble, REPORT_TEXT, end->printed);
    else
        snprintf(bad->trouble, REPORT_TEXT, "%s while it was loaded",
                 child_text(text, end, &l->plan->limits));
}

/* ---- Cases that nobody wrote ---- */

/* The case with every axis of one size made another: so products and broadcasts still fit. False: nothing is of it. */
static bool resize(CheckCase *c, long from, long to) {
    bool any = false;
    for (int k = 0; k < CHECK_INPUTS && c->in[k].name; k++)
        for (int axis = 0; axis < c->in[k].shape.rank; axis++)
            if (c->in[k].shape.size[axis] == from) c->in[k].shape.size[axis] = to, any = true;
    return any;
}

static void add_changed(CheckPlan *p, const CheckItem *base, const CheckCase *c, const char *how) {
    char name[REPORT_NAME];
    snprintf(name, sizeof name, "%.36s, %.24s", base->name, how);
    CheckItem *item = plan_item(p, base->op, name, base->index);
    item->c = *c, item->added = true;
}

/* An input's range, made of what it says. False: its values are no random ones. */
static bool range_of(const CheckInput *in, double *low, double *high) {
    bool plain = in->low == 0 && in->high == 0;
    *low = plain ? -2 : in->low, *high = plain ? 2 : in->high;
    return !in->values;
}

static void add_larger(CheckPlan *p, const CheckItem *base, double factor, const char *how) {
    CheckCase c = base->c;
    bool any = false;
    for (int k = 0; k < CHECK_INPUTS && c.in[k].name; k++) {
        double low, high;
        if (!range_of(&c.in[k], &low, &high)) continue;
        c.in[k].low = factor * low, c.in[k].high = factor * high;
        c.in[k].distinct = true; /* so that some lie near the ends */
        any = true;
    }
    c.flat = true; /* far out much is */
    if (any) add_changed(p, base, &c, how);
}

/* What is all of one sign has the other. Of several such inputs one may have to be the larger. */
static void add_other_sign(CheckPlan *p, const CheckItem *base) {
    CheckCase c = base->c;
    int signed_inputs = 0;
    for (int k = 0; k < CHECK_INPUTS && c.in[k].name; k++) {
        double low, high;
        if (!range_of(&c.in[k], &low, &high) || low * high < 0) continue;
        c.in[k].low = -high, c.in[k].high = -low, c.in[k].away_from = -c.in[k].away_from;
        signed_inputs++;
    }
    if (signed_inputs == 1) add_changed(p, base, &c, "other sign");
}

/* Some numbers of each input are 0, where they may be, and none where another's is. */
static void add_zeros(CheckPlan *p, const CheckItem *base) {
    const uint64_t stream = 0x2E05;
    CheckCase c = base->c;
    int inputs = 0, zeroed = 0;
    while (inputs < CHECK_INPUTS && c.in[inputs].name) inputs++;
    for (int k = 0; k < inputs; k++) {
        double low, high;
        long count = shape_count(c.in[k].shape);
        CheckInput *in = &c.in[k];
        if (!range_of(in, &low, &high) || low * high >= 0 || in->margin > 0 || in->distinct || in->same_as)
            continue;
        double *v = arena_alloc(&p->arena, (size_t)count * sizeof *v);
        for (long i = 0; i < count; i++) {
            double u = (double)random_uniform(random_key(stream, (uint64_t)k), (uint64_t)i);
            v[i] = random_below(random_key(stream, CHECK_INPUTS), (uint64_t)i, inputs + 2) == k
                       ? 0
                       : low + (high - low) * u;
        }
        in->values = v, in->layout = CONTIGUOUS;
        zeroed++;
    }
    c.kinks = true;
    if (zeroed) add_changed(p, base, &c, "zeros among the values");
}

/* Of a case: sizes 0, 1 and one that is larger along each axis. */
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

static void add_values(CheckPlan *p, const CheckItem *base) {
    add_larger(p, base, 2, "larger values");
    add_larger(p, base, 8, "much larger values");
    add_other_sign(p, base);
    add_zeros(p, base);
}

/* Behind each operation's own cases, of the first that fits. */
static void add_what_is_forgotten(CheckPlan *p) {
    CheckItem *own = p->item;
    long count = p->items;
    p->item = NULL, p->items = p->capacity = 0;
    for (long i = 0, next; i < count; i = next) {
        long plain = -1, drawn = -1;
        for (next = i; next < count && strcmp(own[next].op, own[i].op) == 0; next++) {
            const CheckCase *c = &own[next].c;
            bool fits = own[next].index >= 0 && !c->kinks && !c->flat, values = false;
            for (int k = 0; k < CHECK_INPUTS && c->in[k].name; k++) {
                values |= c->in[k].values != NULL;
                fits &= shape_count(c->in[k].shape) > 0;
            }
            *plan_item(p, "", "", 0) = own[next];
            if (fits && drawn < 0) drawn = next;
            if (fits && !values && plain < 0) plain = next;
        }
        if (plain >= 0) add_sizes(p, &own[plain]);
        if (drawn >= 0) add_values(p, plain >= 0 ? &own[plain] : &own[drawn]);
    }
    free(own);
}

/* ---- All of it ---- */

/* The file's name without directory and .c. */
static void file_stem(const char *path, char *out, size_t size) {
    const char *slash = strrchr(path, '/');
    snprintf(out, size, "%s", slash ? slash + 1 : path);
    char *dot = strrchr(out, '.');
    if (dot) *dot = 0;
}

static const char *path_of(CheckPlan *p, const char *folder, const char *name, const char *ending) {
    size_t size = strlen(folder) + strlen(name) + strlen(ending) + 2;
    char *path = arena_alloc(&p->arena, size);
    snprintf(path, size, "%s/%s%s", folder, name, ending);
    return path;
}

/* An operation's source here, and those of others that its cases call. */
static void source_of(CheckPlan *p, const StudentFile *f, const OpEntry *entry, StudentSource *s, Error *e) {
    const char *folder = path_of(p, f->headers, "ops", "");
    OpSource source;
    s->source = path_of(p, folder, entry->op->name, ".c");
    bool there = op_source_read(&source, entry, f->headers, e);
    for (int at = 0, k = 0; there && k < STUDENT_MORE; k++) {
        const OpEntry *other = op_source_hidden(&source, &at);
        if (!other) break;
        s->more[k] = path_of(p, folder, other->op->name, ".c");
    }
    op_source_free(&source);
}

enum { GIVEN = 2 };

/* What is given beside the file: what it has to be like, and cases; the plan has their libraries. Returns how many. */
static int given_sources(CheckPlan *p, const StudentFile *f, StudentSource s[GIVEN], Error *e) {
    int count = 0;
    if (f->like) {
        const OpEntry *entry = ops_find(f->like);
        s[count] =
            (StudentSource){.source = f->like, .library = path_of(p, f->folder, "like", ".so"), .open = true};
        if (entry) source_of(p, f, entry, &s[count], e);
        p->cases = p->reference = s[count++].library;
    }
    if (f->cases) {
        s[count] = (StudentSource){
            .source = f->cases, .library = path_of(p, f->folder, "cases", ".so"), .open = true};
        p->cases = s[count++].library;
    }
    return count;
}

/* Compiles a file, where there is one, and what is given, where it is not compiled yet. */
static bool compile(CheckPlan *p, const StudentFile *f, StudentSource *own, Error *e) {
    StudentSource s[1 + GIVEN] = {0};
    int first = own ? 1 : 0;
    if (own) s[0] = *own;
    int given = given_sources(p, f, s + first, e);
    bool compiled = own && given && access(p->cases, R_OK) == 0;
    student_compile(s, first + (compiled ? 0 : given), f->headers);
    if (own) *own = s[0];
    for (int i = first; i < first + given; i++) {
        const Error *found = &s[i].error;
        if (found->status == STATUS_NO)
            return error_set(e, STATUS_BAD_DATA, "%s: %s", s[i].source, found->text);
        if (found->status) return error_set(e, found->status, "%s", found->text);
    }
    return true;
}

/* The cases, as a child tells them that has loaded the library made of the source. */
static void add_cases(CheckPlan *p, const char *source, const char *library, Error *e) {
    char names[MOST_OPS][STUDENT_NAME];
    int count = student_names(source, names, MOST_OPS, e);
    Listing l = {p, library, names};
    child_run_all(count, 1, &p->limits, list_cases, take_listing, &l);
}

static bool add_given_cases(CheckPlan *p, const StudentFile *f, Error *e) {
    Error unfit = {0};
    StudentSource s[GIVEN] = {0};
    int count = given_sources(p, f, s, e);
    const char *source = s[count - 1].source;
    add_cases(p, source, p->cases, &unfit);
    return !unfit.status || error_set(e, STATUS_BAD_DATA, "%s: %s", source, unfit.text);
}

bool plan_add_given(CheckPlan *p, const StudentFile *f, Error *e) {
    if (!f->cases && !f->like) return true;
    return compile(p, f, NULL, e) && add_given_cases(p, f, e);
}

bool plan_add_file(CheckPlan *p, StudentFile *f, Error *e) {
    StudentSource s = {.source = f->source, .library = path_of(p, f->folder, "op", ".so")};
    char stem[REPORT_NAME];
    bool given = f->cases || f->like;
    if (!compile(p, f, &s, e)) return false;
    Error own = s.error;
    p->library = s.library;
    memcpy(f->warnings, s.warnings, sizeof f->warnings);
    char *included = f->solution && !own.status ? student_includes(p->library, f->headers) : NULL;
    if (included) error_set(&own, STATUS_NO, "is no solution: it includes %s", included);
    free(included);
    if (given && !add_given_cases(p, f, e)) return false;
    if (!given && own.status == STATUS_DONE) add_cases(p, f->source, p->library, &own);
    if (!given && own.status == STATUS_DONE) add_what_is_forgotten(p);
    if (own.status == STATUS_DONE) return true;
    file_stem(f->source, stem, sizeof stem);
    if (!p->items) plan_item(p, stem, "compiling", -1);
    for (long i = 0; i < p->items; i++) {
        p->item[i].index = -1;
        REPORT_SET(p->item[i].trouble, own.text);
    }
    return own.status == STATUS_NO || error_set(e, own.status, "%s", own.text);
}
