#include "grading/check_cases.h"
#include "base/pool.h"
#include "base/utf8.h"
#include "gradcheck/check_host.h"
#include "grading/student_case.h"
#include "grading/student_op.h"
#include "ops/ops.h"
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static CheckItem *new_item(CheckPlan *p, const char *op, const char *name, int index) {
    if (p->items == p->capacity) {
        p->capacity = 2 * p->capacity + 64;
        p->item = realloc(p->item, (size_t)p->capacity * sizeof *p->item);
        if (!p->item) {
            fprintf(stderr, "out of memory: the list of cases\n");
            exit(STATUS_NO_MEMORY);
        }
    }
    CheckItem *item = &p->item[p->items++];
    *item = (CheckItem){.index = index};
    snprintf(item->op, sizeof item->op, "%s", op);
    snprintf(item->name, sizeof item->name, "%s", name);
    return item;
}

void plan_free(CheckPlan *p) {
    arena_free(&p->arena);
    free(p->item);
    p->item = NULL;
    p->items = p->capacity = 0;
}

int plan_add(CheckPlan *p, const Op *op, const char *part) {
    int added = 0;
    for (int i = 0; i < op->n_cases; i++) {
        if (part && !strstr(op->cases[i].name, part)) continue;
        new_item(p, op->name, op->cases[i].name, i);
        added++;
    }
    return added;
}

static void copy_text(char *to, size_t size, const char *from) {
    snprintf(to, size, "%.*s", (int)size - 1, from);
}

/* What a student's program says may hold anything: only what can be printed stays. */
static void make_printable(char *text) {
    for (uint32_t character; *text;) {
        int bytes = utf8_decode(text, strlen(text), &character);
        if (bytes && character >= ' ' && (character < 0x7F || character > 0x9F))
            text += bytes;
        else
            *text++ = '?';
    }
}

/* The last line of what was printed: a bug's message, where it died of one. */
static const char *last_line(const char *printed, char *text, size_t size) {
    copy_text(text, size, "");
    for (const char *line = printed; *line;) {
        size_t length = strcspn(line, "\n");
        if (length) snprintf(text, size, "%.*s", (int)length, line);
        line += length + (line[length] == '\n');
    }
    return text;
}

/* --- A student's file: a child loads it and tells the names of its cases. --- */

enum { MOST_OPS = 64, ENOUGH_RUNS = 100 };

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
        CheckItem *item = new_item(l->plan, l->name[i], c.name, k);
        make_printable(item->name);
        item->c = c;
        item->c.name = NULL; /* the item's, which may move */
    }
    if (end->fate == CHILD_DONE && end->size) return;
    CheckItem *bad = new_item(l->plan, l->name[i], end->fate == CHILD_DONE ? "cases" : "loading", -1);
    char *trouble = bad->trouble;
    if (end->fate == CHILD_DONE)
        snprintf(trouble, REPORT_TEXT, "has no check cases: found no CASES(…) in op_%s", l->name[i]);
    else if (end->fate == CHILD_EXITED && end->number == STATUS_NO)
        last_line(end->printed, trouble, REPORT_TEXT);
    else
        snprintf(trouble, REPORT_TEXT, "%s while it was loaded", child_text(text, end, &l->plan->limits));
}

/* The file's name without directory and .c. */
static void file_stem(const char *path, char *out, size_t size) {
    const char *slash = strrchr(path, '/');
    snprintf(out, size, "%s", slash ? slash + 1 : path);
    char *dot = strrchr(out, '.');
    if (dot) *dot = 0;
}

static void add_failure(CheckPlan *p, const char *op, const char *name, const char *trouble) {
    CheckItem *bad = new_item(p, op, name, -1);
    copy_text(bad->trouble, sizeof bad->trouble, trouble);
}

/* Cases that are not the student's: told by a process that has nothing of his. */
static bool compile_cases(CheckPlan *p, const StudentFile *f, Error *e) {
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/cases.so", f->folder);
    char *library = strcpy(arena_alloc(&p->arena, strlen(path) + 1), path);
    if (f->like)
        snprintf(path, sizeof path, "%s/ops/%s.c", f->headers, f->like->op->name);
    else
        snprintf(path, sizeof path, "%s", f->cases);
    Error own = {0};
    p->cases = library, p->like = f->like;
    return student_compile(path, library, f->headers, true, &own) ||
           error_set(e, own.status == STATUS_NO ? STATUS_BAD_DATA : own.status, "%s: %s", path, own.text);
}

bool plan_add_file(CheckPlan *p, const StudentFile *f, Error *e) {
    char names[MOST_OPS][STUDENT_NAME], stem[REPORT_NAME], path[PATH_MAX];
    const char *told_by = f->source;
    Error own = {0};
    int count = 0;
    bool given = f->cases || f->like;
    file_stem(f->source, stem, sizeof stem);
    snprintf(path, sizeof path, "%s/op.so", f->folder);
    char *library = strcpy(arena_alloc(&p->arena, strlen(path) + 1), path);
    if (given && !compile_cases(p, f, e)) return false;
    if (f->cases) told_by = f->cases;
    if (f->like) count = 1, snprintf(names[0], STUDENT_NAME, "%.*s", STUDENT_NAME - 1, f->like->op->name);
    if (student_compile(f->source, library, f->headers, false, &own) && !f->like)
        count = student_names(told_by, names, MOST_OPS, &own);
    if (own.status != STATUS_DONE && own.status != STATUS_NO) return error_set(e, own.status, "%s", own.text);
    char *included = p->solution && !own.status ? student_includes(library, f->headers) : NULL;
    if (included) error_set(&own, STATUS_NO, "is no solution: it includes %s", included);
    free(included);
    if (own.status == STATUS_NO) {
        add_failure(p, stem, "compiling", own.text);
        return true;
    }
    p->library = library;
    Listing l = {p, given ? p->cases : library, names};
    child_run_all(count, 1, &p->limits, list_cases, take_listing, &l);
    return true;
}

/* --- Running. --- */

typedef struct Checking {
    const CheckPlan *plan;
    CaseReport **report; /* [items], NULL: not there yet, or handed over */
    long next;           /* item to be handed over */
    void (*sink)(void *context, const CaseReport *r);
    void *context;
} Checking;

static double largest_error(const CaseReport *r) {
    double largest = 0;
    for (int i = 0; i < r->inputs; i++) largest = fmax(largest, r->in[i].error);
    return largest;
}

/* A case that came to no report has failed. */
static void not_checked(CaseReport *r, const CheckItem *item, const ChildEnd *end, const ChildLimits *limits,
                        const char *stage) {
    char text[CHILD_TEXT], line[REPORT_TEXT];
    const char *why = child_text(text, end, limits);
    last_line(end->printed, line, sizeof line);
    if (item->index < 0)
        why = item->trouble;
    else if (end->fate == CHILD_DONE)
        why = "its report was damaged";
    else if (end->fate == CHILD_EXITED && end->number == STATUS_BUG && line[0])
        why = line;
    else if (end->fate == CHILD_EXITED && end->number == STATUS_NO_MEMORY)
        why = line[0] ? line : "ran out of memory";
    *r = (CaseReport){.verdict = FAIL};
    snprintf(r->trouble, sizeof r->trouble, "%.*s%s%s", REPORT_TEXT / 2, why, stage ? ", " : "",
             stage ? stage : "");
    copy_text(r->diagnosis, sizeof r->diagnosis, "not checked");
    make_printable(r->trouble);
}

/* ---- In the process that judges an item ---- */

typedef struct Judging {
    const CheckPlan *plan;
    const CheckItem *item;
} Judging;

/* In the host. */
static const CheckCase *load_case(void *context) {
    const Judging *j = context;
    Error e = {0};
    const CheckPlan *p = j->plan;
    if (p->cases) student_load_solution(p->library, j->item->op, &e);
    const Op *op = e.status ? NULL : student_load(p->cases ? p->cases : p->library, j->item->op, false, &e);
    if (!op) {
        printf("%s\n", e.text);
        fflush(stdout);
        _exit(STATUS_BUG);
    }
    return &op->cases[j->item->index];
}

/* The host is gone: that is the verdict. Where its time ran out in the middle of many short runs, nothing is known but
 * that it was not enough. */
static void lost_host(void *context, const ChildEnd *end, const CheckRun *run) {
    const Judging *j = context;
    const ChildLimits *limits = &j->plan->limits;
    CaseReport r;
    not_checked(&r, j->item, end, limits, run->stage);
    double wanted = limits->seconds * (double)run->planned / (double)(run->evaluations + 1);
    if (end->fate == CHILD_TIMED_OUT && run->evaluations > ENOUGH_RUNS) {
        r.verdict = INCONCLUSIVE, r.diagnosis[0] = 0;
        snprintf(r.trouble, sizeof r.trouble,
                 "its time limit of %g s ran out after %ld runs: --time-limit %.0f may be enough, or smaller "
                 "inputs",
                 limits->seconds, run->evaluations, ceil(3 * fmax(wanted, limits->seconds)));
    }
    child_send(&r, sizeof r);
    child_finish();
}

static void check_item(void *context, long i) {
    const CheckPlan *p = ((Checking *)context)->plan;
    const CheckItem *item = &p->item[i];
    Judging judging = {p, item};
    CheckOptions how = {.curves = p->curves};
    CheckCase c = item->c;
    if (item->index < 0) return;
    pool_set_threads(1); /* the cases run side by side */
    if (p->library) {
        how.host = check_host_start(&p->limits, load_case, lost_host, &judging);
        how.fresh = check_host_start(&p->limits, load_case, lost_host, &judging);
        if (!how.host || !how.fresh) error_bug("no process for the host");
        c.name = item->name;
        if (p->like) how.reference = &p->like->op->cases[item->index];
    } else {
        c = ops_find(item->op)->op->cases[item->index];
    }
    CaseReport worst, report;
    for (long k = 0; k < p->seeds; k++) {
        how.seed = p->seed + (uint64_t)k;
        gradcheck_case_with(item->op, &c, &how, &report);
        if (how.fresh) check_host_stop(how.fresh), how.fresh = NULL;
        if (k == 0 || report.verdict > worst.verdict ||
            (report.verdict == worst.verdict && largest_error(&report) > largest_error(&worst)))
            worst = report;
    }
    if (how.host) check_host_stop(how.host);
    child_send(&worst, sizeof worst);
}

static void take_report(void *context, long i, const ChildEnd *end) {
    Checking *c = context;
    const CheckItem *item = &c->plan->item[i];
    CaseReport *r = calloc(1, sizeof *r);
    if (!r) {
        fprintf(stderr, "out of memory: reports\n");
        exit(STATUS_NO_MEMORY);
    }
    if (end->fate == CHILD_DONE && end->size == sizeof *r)
        memcpy(r, end->result, sizeof *r);
    else
        not_checked(r, item, end, &c->plan->limits, NULL);
    copy_text(r->op, sizeof r->op, item->op);
    copy_text(r->name, sizeof r->name, item->name);
    c->report[i] = r;
    while (c->next < c->plan->items && c->report[c->next]) {
        c->sink(c->context, c->report[c->next]);
        free(c->report[c->next++]);
    }
}

void plan_run(const CheckPlan *p, void (*sink)(void *context, const CaseReport *r), void *context) {
    Checking c = {.plan = p, .sink = sink, .context = context};
    c.report = calloc((size_t)p->items + 1, sizeof *c.report);
    if (!c.report) {
        fprintf(stderr, "out of memory: reports\n");
        exit(STATUS_NO_MEMORY);
    }
    /* Where there is a host, it is the one that runs out of time first. */
    ChildLimits limits = p->limits;
    if (p->library) limits = (ChildLimits){.seconds = 2 * limits.seconds + 1};
    child_run_all(p->items, p->at_once, &limits, check_item, take_report, &c);
    free(c.report);
}
