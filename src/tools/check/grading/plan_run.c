#include "base/pool.h"
#include "base/utf8.h"
#include "check/grading/plan.h"
#include "check/grading/student_file.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    ENOUGH_RUNS = 100, /* fewer runs within the time limit mean an endless loop */
    ENOUGH_LOOPS = 2,  /* after as many endless loops the time limit is divided by PART */
    PART = 10,
    MAX_TOGETHER = 32, /* cases of functions that share a process */
};

/* The run of a plan. Each C case has a judge of its own. Cases of functions share a program, and so a judge, which ends with
 * it; then another goes on with the next case. */
typedef struct PlanRun {
    const Plan *plan;
    ChildLimits limits; /* of a program */
    int endless;
    const char
        *never_ends;     /* the operation of the last endless case: its added cases are not run */
    const char *fails;   /* the last operation of which a case of its own failed */
    CaseReport **report; /* [items]; NULL: not finished, or passed on */
    long next;           /* the next item to pass on */
    void (*sink)(void *context, const CaseReport *r);
    void *context;
} PlanRun;

/* The end of the items that one judge is given from item i on. */
static long end_of_job(const Plan *p, long i) {
    long most = plan_has_functions(p) ? MAX_TOGETHER : 1;
    return i + most < p->items ? i + most : p->items;
}

static double largest_error(const CaseReport *r) {
    double largest = 0;
    for (int i = 0; i < r->inputs; i++) largest = fmax(largest, r->in[i].error);
    return largest;
}

/* The report of a case whose judge or program has ended: it has failed. */
static CaseReport ended(const ChildEnd *end, const ChildLimits *limits, const char *stage) {
    char why[CHILD_TEXT];
    /* Interruptions and missing resources are not the case's fault. */
    bool outside = end->fate == CHILD_INTERRUPTED || end->fate == CHILD_NOT_BORN;
    CaseReport r = {.verdict = outside ? INCONCLUSIVE : FAIL};
    child_text(why, end, limits);
    snprintf(r.trouble, REPORT_TEXT, "%.*s%s%s", REPORT_TEXT / 2, why, stage ? ", " : "",
             stage ? stage : "");
    utf8_make_printable(r.trouble, "");
    return r;
}

/* ---- In the process that judges ---- */

typedef struct Judging {
    const Plan *plan;
    const PlanItem *item;
    CaseReport report; /* so far */
    const ChildLimits *limits;
    const Program *program; /* of functions */
} Judging;

/* Sends the report of the case at hand, and ends. */
static _Noreturn void give_up(const CaseReport *r) {
    child_send(r, sizeof *r);
    child_finish();
}

/* There is no process for a case. */
static _Noreturn void lack(const ChildLimits *limits) {
    const ChildEnd none = {.fate = CHILD_NOT_BORN, .result = "", .printed = ""};
    CaseReport r = ended(&none, limits, NULL);
    give_up(&r);
}

/* A reference that ends is not the fault of the student's file: inconclusive. */
static void lost_reference(void *context, const ChildEnd *end, const CheckRun *run) {
    const Judging *j = context;
    CaseReport r = ended(end, j->limits, "in the reference");
    (void)run;
    r.verdict = INCONCLUSIVE;
    give_up(&r);
}

/* The program has ended. If the gradients are judged, the property under test fails; if an explanation was sought, at
 * values that the checker chose, the verdict stands. A timeout after many short runs is inconclusive. */
static void lost_program(void *context, const ChildEnd *end, const CheckRun *run) {
    Judging *j = context;
    const ChildLimits *limits = j->limits;
    CaseReport r = ended(end, limits, run->stage);
    bool timed_out = end->fate == CHILD_TIMED_OUT,
         endless = timed_out && run->evaluations <= ENOUGH_RUNS;
    double wanted = limits->seconds * (double)run->planned / (double)(run->evaluations + 1);
    if (timed_out && plan_is_foreign(j->plan) && endless)
        plan_name_silence(r.trouble, j->program->awaited, limits->seconds);
    if (run->explaining) {
        r = j->report;
        r.judged = true;
        gradcheck_conclude(&r);
    } else if (timed_out && !endless) {
        r.verdict = INCONCLUSIVE;
        snprintf(r.trouble, sizeof r.trouble,
                 "its time limit of %g s ran out after %ld runs: --time-limit %.0f may be enough, "
                 "or smaller "
                 "inputs",
                 limits->seconds, run->evaluations, ceil(3 * fmax(wanted, limits->seconds)));
    } else if (j->report.judged) {
        REPORT_SET(j->report.broken[j->report.properties], r.trouble);
        j->report.properties++;
        gradcheck_conclude(&j->report);
        r = j->report;
    }
    r.endless = endless && !run->explaining;
    give_up(&r);
}

/* A process that loads a case and serves it. */
typedef struct Serving {
    const Judging *judging;
    bool reference;
} Serving;

static void serve(void *context, long i) {
    const Serving *s = context;
    const PlanItem *item = s->judging->item;
    (void)i;
    tape_program_serve(s->reference
                           ? student_reference_case(s->judging->plan, item->op, item->index)
                           : student_case(s->judging->plan, item->op, item->index));
}

static Program start_tape(Judging *j, bool reference) {
    Serving s = {j, reference};
    ChildLimits limits = *j->limits;
    if (reference) memcpy(limits.keep, j->plan->keep, sizeof limits.keep);
    Program p = {
        .child = child_start(0, &limits, serve, &s), .runner = tape_program_run, .context = j};
    p.lost = reference ? lost_reference : lost_program;
    if (!p.child) lack(j->limits);
    return p;
}

/* Starts the program of functions, and takes its first line. */
static void start_functions(Program *p, Judging *j, long cases) {
    ChildLimits limits = *j->limits;
    Error e = {0};
    limits.cases = cases;
    *p =
        (Program){.child = functions_start(j->plan, &limits), .runner = protocol_run, .context = j};
    if (!p->child) lack(j->limits);
    Plan heard = {0};
    j->program = p;
    if (!j->plan->attached && !listing_take(p, &heard, "", &e)) {
        if (e.status) p->end = (ChildEnd){CHILD_EXITED, STATUS_BUG, "", 0, e.text};
        lost_program(j, &p->end, &(CheckRun){.op = j->item->op});
    }
    plan_free(&heard);
    p->lost = lost_program;
}

/* The case of the built-in reference; NULL: there is none. */
static const CheckCase *like_case(const Plan *p, const char *name) {
    for (int k = 0; p->like && k < p->like->n_cases; k++)
        if (strncmp(p->like->cases[k].name, name, REPORT_NAME - 1) == 0) return &p->like->cases[k];
    return NULL;
}

/* Judges the item at the points of all seeds; returns the worst report. */
static CaseReport judge_item(Judging *j, Program *functions) {
    const Plan *p = j->plan;
    const PlanItem *item = j->item;
    CheckOptions how = {.runner = program_run,
                        .added = item->added,
                        .nondeterminism = p->nondeterminism,
                        .reference = like_case(p, item->c.name)};
    CheckCase c = item->c;
    Program own, fresh, reference;
    CaseReport worst;
    c.name = item->name;
    if (functions) {
        functions->begin = functions_line(item);
        child_again(functions->child);
        how.program = functions, how.functions = true;
    } else if (p->folder) {
        own = start_tape(j, false);
        fresh = start_tape(j, false);
        how.program = &own, how.fresh = &fresh;
    }
    if (!p->like && p->reference) {
        reference = start_tape(j, true);
        how.reference = &c, how.reference_program = &reference;
    }
    for (long k = 0; k < p->seeds; k++) {
        how.seed = p->seed + (uint64_t)k;
        gradcheck_case_with(item->op, &c, &how, &j->report);
        if (how.fresh) child_stop(fresh.child), how.fresh = NULL;
        if (k == 0 || j->report.verdict > worst.verdict ||
            (j->report.verdict == worst.verdict &&
             largest_error(&j->report) > largest_error(&worst)))
            worst = j->report;
    }
    if (how.program && !functions) child_stop(own.child);
    if (how.reference_program) child_stop(reference.child);
    return worst;
}

static void judge_items(void *context, long job) {
    const PlanRun *run = context;
    const Plan *p = run->plan;
    bool functions = plan_has_functions(p);
    long i = functions ? run->next : job, end = end_of_job(p, i);
    Judging j = {.plan = p, .limits = &run->limits};
    Program program = {0};
    pool_set_threads(1); /* the cases run side by side */
    for (; i < end && p->item[i].index >= 0; i++) {
        j.item = &p->item[i];
        if (j.item->added && run->never_ends && strcmp(run->never_ends, j.item->op) == 0) {
            child_send(&(CaseReport){.verdict = FAIL}, sizeof(CaseReport));
            continue;
        }
        if (functions && !program.child) start_functions(&program, &j, end - i);
        CaseReport r = judge_item(&j, functions ? &program : NULL);
        child_send(&r, sizeof r);
    }
    if (program.child) child_stop(program.child);
}

/* ---- In the process of the run ---- */

/* An added case counts if it ran and passed, or has a wrong gradient. */
static bool is_wanted(const PlanItem *item, const CaseReport *r) {
    bool found = r->verdict == PASS;
    for (int i = 0; i < r->inputs; i++) found |= r->in[i].wrong > 0;
    return !item->added || (found && report_broken(r) != PROPERTY_READ_ONLY);
}

/* A function that fails only at a size of the checker's may have a size among its constants: inconclusive. */
static void doubt_size(const PlanRun *run, const PlanItem *item, CaseReport *r) {
    char reason[REPORT_TEXT];
    if (item->resized < 0 || r->verdict != FAIL || !plan_has_functions(run->plan)) return;
    if (run->fails && strcmp(run->fails, item->op) == 0) return;
    for (InputReport *in = r->in; in < r->in + r->inputs; in++) {
        if (in->verdict != FAIL) continue;
        snprintf(reason, sizeof reason,
                 "right at your sizes; at size %ld: %.*s; is a size a constant?", item->resized,
                 REPORT_TEXT - 80, *in->reason ? in->reason : "another gradient");
        REPORT_SET(in->reason, reason);
        in->verdict = INCONCLUSIVE;
        in->unclear = in->wrong;
        in->wrong = in->explanations = 0;
        in->pattern = PATTERN_UNKNOWN;
    }
    r->verdict = INCONCLUSIVE;
    r->trouble[0] = 0;
}

static void pass_on(PlanRun *run, const PlanItem *item, CaseReport *r) {
    if (!is_wanted(item, r)) return;
    if (!item->added && r->verdict == FAIL) run->fails = item->op;
    doubt_size(run, item, r);
    run->sink(run->context, r);
}

static void take_report(PlanRun *run, long i, const CaseReport *found) {
    const Plan *p = run->plan;
    CaseReport *r = malloc(sizeof *r);
    if (!r) error_no_memory("a report");
    *r = *found;
    if (r->endless) run->never_ends = p->item[i].op;
    if (r->endless && ++run->endless == ENOUGH_LOOPS) run->limits.seconds /= PART;
    plan_describe(p, &p->item[i], r);
    run->report[i] = r;
    for (; run->next < p->items && run->report[run->next]; free(run->report[run->next++]))
        pass_on(run, &p->item[run->next], run->report[run->next]);
}

/* Takes the reports of a judge. If it has ended too soon, the case at hand has none. */
static void take_reports(void *context, long job, const ChildEnd *end) {
    PlanRun *run = context;
    long i = plan_has_functions(run->plan) ? run->next : job, last = end_of_job(run->plan, i) - 1;
    long count = (long)(end->size / sizeof(CaseReport));
    CaseReport r;
    for (long k = 0; k < count && i <= last; k++, i++) {
        memcpy(&r, end->result + (size_t)k * sizeof r, sizeof r);
        take_report(run, i, &r);
    }
    if (i > last || (count && end->fate == CHILD_DONE)) return;
    r = ended(end, &run->limits, NULL);
    if (run->plan->item[i].index < 0) REPORT_SET(r.trouble, run->plan->item[i].trouble);
    take_report(run, i, &r);
}

void plan_run(const Plan *p, void (*sink)(void *context, const CaseReport *r), void *context) {
    PlanRun run = {.plan = p, .limits = p->limits, .sink = sink, .context = context};
    run.report = calloc((size_t)p->items + 1, sizeof *run.report);
    if (!run.report) error_no_memory("reports");
    while (run.next < p->items) {
        ChildLimits judge = run.limits;
        bool functions = plan_has_functions(p);
        /* A program must run out of time before its judge. */
        if (p->folder || functions) judge = (ChildLimits){.seconds = 2 * p->limits.seconds + 1};
        if (functions) judge.seconds *= MAX_TOGETHER;
        memcpy(judge.keep, p->keep, sizeof p->keep);
        child_run_all(functions ? 1 : p->items, pool_threads(), &judge, judge_items, take_reports,
                      &run);
    }
    free(run.report);
}
