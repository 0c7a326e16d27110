#include "check/grading/check_cases.h"
#include "base/pool.h"
#include "base/utf8.h"
#include "check/gradcheck/check_run.h"
#include "check/grading/functions.h"
#include "check/protocol.h"
#include "check/sandbox.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

CheckItem *plan_item(CheckPlan *p, const char *op, const char *name, int index) {
    p->item = array_grown(p->item, p->items, &p->capacity, sizeof *p->item);
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
        plan_item(p, op->name, op->cases[i].name, i)->c = op->cases[i];
        added++;
    }
    return added;
}

/* circle: check/grading/functions adds cases to a plan, and starts the program of a case here */

enum {
    ENOUGH_RUNS = 100, /* fewer runs within the time limit mean an endless loop */
    ENOUGH_LOOPS = 2,  /* after as many endless loops the time limit is divided by PART */
    PART = 10,
};

typedef struct Checking {
    const CheckPlan *plan;
    ChildLimits limits, judge; /* of a program, and of the judge */
    int endless;
    CaseReport **report; /* [items]; NULL: not finished, or passed on */
    long next;           /* the next item to pass on */
    void (*sink)(void *context, const CaseReport *r);
    void *context;
} Checking;

static double largest_error(const CaseReport *r) {
    double largest = 0;
    for (int i = 0; i < r->inputs; i++) largest = fmax(largest, r->in[i].error);
    return largest;
}

/* The report of a case whose judge ended without one: it has failed. */
static void not_checked(CaseReport *r, const CheckItem *item, const ChildEnd *end, const ChildLimits *limits,
                        const char *stage) {
    char text[CHILD_TEXT], line[REPORT_TEXT];
    const char *why = child_text(text, end, limits);
    child_last_line(line, sizeof line, end->printed);
    if (end->fate == CHILD_DONE)
        why = "its report was damaged";
    else if (end->fate == CHILD_EXITED && end->number == STATUS_BUG && line[0])
        why = line;
    else if (end->fate == CHILD_EXITED && end->number == STATUS_NO_MEMORY)
        why = line[0] ? line : "ran out of memory";
    /* Interruptions and missing resources are not the case's fault. */
    bool outside = end->fate == CHILD_INTERRUPTED || end->fate == CHILD_NOT_BORN;
    *r = (CaseReport){.verdict = outside ? INCONCLUSIVE : FAIL};
    snprintf(r->trouble, REPORT_TEXT, "%.*s%s%s", REPORT_TEXT / 2, why, stage ? ", " : "",
             stage ? stage : "");
    utf8_make_printable(r->trouble, "");
    if (item->index < 0) REPORT_SET(r->trouble, item->trouble);
}

/* ---- In the process that judges an item ---- */

typedef struct Judging {
    const CheckPlan *plan;
    const CheckItem *item;
    CaseReport report; /* so far */
    const ChildLimits *limits;
} Judging;

/* Whether the forward is compared with another's. */
static bool plan_has_reference(const CheckPlan *p) {
    return p->like || p->reference;
}

/* Case i of an operation; ends the process if there is none. */
static const CheckCase *case_of(const Op *op, int i, const char *whose, const Error *e) {
    if (op && i < op->n_cases) return &op->cases[i];
    printf("%s%s\n", whose, op ? "a case is missing" : e->text);
    fflush(stdout);
    _exit(STATUS_BUG);
}

/* In the program: the case, and the student's operation that it calls. */
static const CheckCase *load_case(void *context) {
    const Judging *j = context;
    const CheckPlan *p = j->plan;
    const char *name = j->item->op;
    Error e = {0};
    sandbox_enter(p->folder, &(SandboxNeeds){0});
    bool loaded = !p->cases || student_load_solution(PLAN_OWN, name, &e);
    const Op *op = loaded ? student_load(p->cases ? PLAN_CASES : PLAN_OWN, name, false, &e) : NULL;
    return case_of(op, j->item->index, p->cases && loaded ? "the cases: " : "", &e);
}

/* In the reference's process: the same case. */
static const CheckCase *load_reference(void *context) {
    const Judging *j = context;
    const CheckPlan *p = j->plan;
    const CheckItem *item = j->item;
    Error e = {0};
    bool loaded = p->reference && student_load_solution(p->reference, item->op, &e);
    return case_of(loaded ? student_load(p->cases, item->op, true, &e) : NULL, item->index, "", &e);
}

/* A reference that ends is not the fault of the student's file: inconclusive. */
static void lost_reference(void *context, const ChildEnd *end, const CheckRun *run) {
    const Judging *j = context;
    CaseReport r;
    (void)run;
    not_checked(&r, j->item, end, j->limits, "in the reference");
    r.verdict = INCONCLUSIVE;
    child_send(&r, sizeof r);
    child_finish();
}

/* The program has ended. If the gradients are judged, the property under test fails; if an explanation was
 * sought, at values that the checker chose, the verdict stands. A timeout after many short runs is
 * inconclusive. */
static void lost_program(void *context, const ChildEnd *end, const CheckRun *run) {
    Judging *j = context;
    const ChildLimits *limits = j->limits;
    CaseReport r;
    not_checked(&r, j->item, end, limits, run->stage);
    bool endless = end->fate == CHILD_TIMED_OUT && run->evaluations <= ENOUGH_RUNS;
    double wanted = limits->seconds * (double)run->planned / (double)(run->evaluations + 1);
    if (run->explaining) {
        r = j->report;
        r.judged = true;
        gradcheck_conclude(&r);
    } else if (end->fate == CHILD_TIMED_OUT && !endless) {
        r.verdict = INCONCLUSIVE;
        snprintf(r.trouble, sizeof r.trouble,
                 "its time limit of %g s ran out after %ld runs: --time-limit %.0f may be enough, or smaller "
                 "inputs",
                 limits->seconds, run->evaluations, ceil(3 * fmax(wanted, limits->seconds)));
    } else if (j->report.judged) {
        REPORT_SET(j->report.broken[j->report.properties], r.trouble);
        j->report.properties++;
        gradcheck_conclude(&j->report);
        r = j->report;
    }
    r.endless = endless && !run->explaining;
    child_send(&r, sizeof r);
    child_finish();
}

/* A process that loads a case and serves it. */
typedef struct Serving {
    const Judging *judging;
    const CheckCase *(*load)(void *context);
} Serving;

static void serve(void *context, long i) {
    const Serving *s = context;
    (void)i;
    protocol_serve(s->load((void *)s->judging));
}

static Program start(Judging *j, const ChildLimits *limits, const CheckCase *(*load)(void *context),
                     void (*lost)(void *context, const ChildEnd *end, const CheckRun *r)) {
    Serving s = {j, load};
    Program p = {.child = child_start(0, limits, serve, &s), .on_tape = true, .lost = lost, .context = j};
    if (!p.child) error_bug("no process for a case");
    return p;
}

/* A process of functions in another language. */
static Program start_functions(Judging *j, const ChildLimits *limits) {
    ChildEnd end;
    Error e = {0};
    Program p = {.child = functions_start(j->plan, limits), .lost = lost_program, .context = j};
    if (!p.child) error_bug("no process for a case");
    p.begin = functions_line(j->item);
    if (j->plan->attached || functions_hello(p.child, NULL, "", &end, &e)) return p;
    if (e.status) end = (ChildEnd){CHILD_EXITED, STATUS_BUG, "", 0, e.text};
    lost_program(j, &end, &(CheckRun){.op = j->item->op});
    return p;
}

static void check_item(void *context, long i) {
    const Checking *checking = context;
    const CheckPlan *p = checking->plan;
    const CheckItem *item = &p->item[i];
    Judging judging = {.plan = p, .item = item, .limits = &checking->limits};
    CaseReport *report = &judging.report;
    CheckOptions how = {.runner = protocol_run, .added = item->added, .nondeterminism = p->nondeterminism};
    CheckCase c = item->c;
    Program own, fresh, reference;
    if (item->index < 0) return;
    pool_set_threads(1); /* the cases run side by side */
    c.name = item->name;
    if (p->program || p->attached) {
        own = start_functions(&judging, judging.limits);
        how.program = &own, how.functions = true;
    } else if (p->folder) {
        own = start(&judging, judging.limits, load_case, lost_program);
        fresh = start(&judging, judging.limits, load_case, lost_program);
        how.program = &own, how.fresh = &fresh;
    }
    for (int k = 0; p->like && k < p->like->n_cases; k++)
        if (strncmp(p->like->cases[k].name, item->c.name, STUDENT_NAME - 1) == 0)
            how.reference = &p->like->cases[k];
    if (!p->like && p->reference) {
        ChildLimits limits = checking->limits;
        memcpy(limits.keep, p->keep, sizeof p->keep);
        reference = start(&judging, &limits, load_reference, lost_reference);
        how.reference = &c, how.reference_program = &reference;
    }
    CaseReport worst;
    for (long k = 0; k < p->seeds; k++) {
        how.seed = p->seed + (uint64_t)k;
        gradcheck_case_with(item->op, &c, &how, report);
        if (how.fresh) child_stop(fresh.child), how.fresh = NULL;
        if (k == 0 || report->verdict > worst.verdict ||
            (report->verdict == worst.verdict && largest_error(report) > largest_error(&worst)))
            worst = *report;
    }
    if (how.program && !p->attached) child_stop(own.child);
    if (how.reference_program) child_stop(reference.child);
    child_send(&worst, sizeof worst);
}

/* Fills in the subject of the report and what had to be judged. */
static void plan_describe(const CheckPlan *p, const CheckItem *item, CaseReport *r) {
    const CheckInput *in = item->c.in;
    REPORT_SET(r->op, item->op);
    REPORT_SET(r->name, item->name);
    r->points = item->c.points > 0 ? item->c.points : 1;
    r->planned = in[0].name != NULL;
    r->functions = p->program || p->attached;
    r->wanted = 0, r->added = item->added, r->like = plan_has_reference(p);
    for (int k = 0; k < CHECK_INPUTS && in[k].name; k++)
        if (!in[k].constant && !in[k].same_as)
            snprintf(r->want[r->wanted++], REPORT_NAME, "d%.*s", REPORT_NAME - 2, in[k].name);
}

void plan_unjudged(const CheckPlan *p, const char *why, CaseReport *report) {
    for (long i = 0; i < p->items; i++) {
        report[i] = (CaseReport){.verdict = FAIL};
        plan_describe(p, &p->item[i], &report[i]);
        REPORT_SET(report[i].trouble, why);
    }
}

/* An added case counts if it ran and passed, or has a wrong gradient. */
static bool is_wanted(const CheckItem *item, const CaseReport *r) {
    bool found = r->verdict == PASS;
    for (int i = 0; i < r->inputs; i++) found |= r->in[i].wrong > 0;
    return !item->added || (found && report_broken(r) != PROPERTY_READ_ONLY);
}

static void take_report(void *context, long i, const ChildEnd *end) {
    Checking *c = context;
    const CheckItem *item = &c->plan->item[i];
    CaseReport *r = calloc(1, sizeof *r);
    if (!r) error_no_memory("a report");
    if (end->fate == CHILD_DONE && end->size == sizeof *r)
        memcpy(r, end->result, sizeof *r);
    else
        not_checked(r, item, end, &c->limits, NULL);
    if (r->endless && ++c->endless == ENOUGH_LOOPS) c->limits.seconds /= PART, c->judge.seconds /= PART;
    plan_describe(c->plan, item, r);
    c->report[i] = r;
    for (; c->next < c->plan->items && c->report[c->next]; free(c->report[c->next++]))
        if (is_wanted(&c->plan->item[c->next], c->report[c->next])) c->sink(c->context, c->report[c->next]);
}

void plan_run(const CheckPlan *p, void (*sink)(void *context, const CaseReport *r), void *context) {
    Checking c = {.plan = p, .limits = p->limits, .judge = p->limits, .sink = sink, .context = context};
    c.report = calloc((size_t)p->items + 1, sizeof *c.report);
    if (!c.report) error_no_memory("reports");
    /* A program must run out of time before its judge. */
    if (p->folder || p->program || p->attached) c.judge = (ChildLimits){.seconds = 2 * p->limits.seconds + 1};
    memcpy(c.judge.keep, p->keep, sizeof p->keep);
    child_run_all(p->items, p->attached ? 1 : pool_threads(), &c.judge, check_item, take_report, &c);
    free(c.report);
}
