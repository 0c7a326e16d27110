#include "base/pool.h"
#include "base/utf8.h"
#include "check/grading/plan.h"
#include "check/grading/student_file.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    ENOUGH_RUNS = 100, /* fewer runs within the time limit mean an endless loop */
    ENOUGH_LOOPS = 2,  /* after as many endless loops the time limit is divided by PART */
    PART = 10,
    MAX_TOGETHER = 32, /* cases of functions that share a process */
};

/* The run of a plan. Each C case has a judge of its own. Cases of functions share a program, and so
 * a judge, which ends with it; then another goes on with the next case. */
typedef struct PlanRun {
    const Plan *plan;
    bool functions;
    ChildLimits limits; /* of a program */
    int endless;
    const char *never_ends; /* operation of the last endless case: its added cases are not run */
    const char *fails;      /* the last operation of which a case of its own failed */
    CaseReport **report;    /* [items]; NULL: not finished, or passed on */
    long next;              /* the next item to pass on */
    void (*sink)(void *context, const CaseReport *r);
    void *context;
} PlanRun;

/* The items that a judge is given: from *first to before the result. */
static long items_of_job(const PlanRun *run, long job, long *first) {
    *first = run->functions ? run->next : job;
    long end = *first + (run->functions ? MAX_TOGETHER : 1);
    return end < run->plan->items ? end : run->plan->items;
}

/* The report of a case whose judge or program has ended: it has failed. */
static CaseReport ended(const ChildEnd *end, const ChildLimits *limits, const char *stage) {
    char why[CHILD_TEXT];
    /* Interruptions and missing resources are not the case's fault. */
    bool outside = end->fate == CHILD_INTERRUPTED || end->fate == CHILD_NOT_BORN;
    CaseReport r = {.verdict = outside ? INCONCLUSIVE : FAIL};
    child_text(why, end, limits);
    snprintf(r.trouble, sizeof r.trouble, "%s%s%s", why, stage ? ", " : "", stage ? stage : "");
    utf8_make_printable(r.trouble, "");
    return r;
}

/* ---- In the process that judges ---- */

typedef struct Judging {
    const PlanRun *run;
    const PlanItem *item;
    CaseReport report; /* so far */
    Program functions;
} Judging;

/* Sends the report of the case at hand, and ends. */
static _Noreturn void give_up(const CaseReport *r) {
    child_send(r, sizeof *r);
    child_finish();
}

/* A reference that ends is not the fault of the student's file: inconclusive. */
static void lost_reference(void *context, const ChildEnd *end, const CheckRun *run) {
    const Judging *j = context;
    CaseReport r = ended(end, &j->run->limits, "in the reference");
    (void)run;
    r.verdict = INCONCLUSIVE;
    give_up(&r);
}

/* Says that a program in another language leaves its messages unanswered. */
static void name_silence(CaseReport *r, const char *message, double seconds) {
    snprintf(r->trouble, REPORT_FULL,
             "the program, not the function: it did not answer `%s` in %g s. Does it wait for more "
             "than the message, such as a byte after its line?",
             message, seconds);
}

static void suggest_time(CaseReport *r, double seconds, const CheckRun *run) {
    double wanted = seconds * (double)run->planned / (double)(run->evaluations + 1);
    r->verdict = INCONCLUSIVE;
    snprintf(r->trouble, REPORT_FULL,
             "its time limit of %g s ran out after %ld runs: --time-limit %.0f may be enough, or "
             "smaller inputs",
             seconds, run->evaluations, ceil(3 * fmax(wanted, seconds)));
}

/* The program has ended. If the gradients are judged, the property under test fails; if an
 * explanation was sought, at values that the checker chose, the verdict stands. A timeout after
 * many short runs is inconclusive. */
static void lost_program(void *context, const ChildEnd *end, const CheckRun *run) {
    Judging *j = context;
    const ChildLimits *limits = &j->run->limits;
    CaseReport r = ended(end, limits, run->stage), *judged = &j->report;
    bool timed_out = end->fate == CHILD_TIMED_OUT, few = run->evaluations <= ENOUGH_RUNS;
    r.endless = timed_out && few && !run->explaining;
    if (timed_out && few && plan_is_foreign(j->run->plan))
        name_silence(&r, j->functions.awaited, limits->seconds);
    if (timed_out && !few && !run->explaining) {
        suggest_time(&r, limits->seconds, run);
        give_up(&r);
    }
    if (!run->explaining && !judged->judged) give_up(&r);
    if (run->explaining) {
        judged->judged = true;
    } else {
        REPORT_SET(judged->broken[judged->properties], r.trouble);
        judged->properties++;
        judged->endless = r.endless;
    }
    gradcheck_conclude(judged);
    give_up(judged);
}

/* Starts a process that runs the item's case, and perhaps the next ones. */
static void start(Judging *j, Program *p, bool reference, long cases) {
    ChildLimits limits = j->run->limits;
    limits.cases = cases;
    *p = (Program){.child = plan_start(j->run->plan, j->item->op, reference, &limits),
                   .on_tape = reference || !j->run->functions,
                   .goes_on = j->run->plan->attached != NULL,
                   .begin = functions_line(j->item),
                   .lost = reference ? lost_reference : lost_program,
                   .context = j};
    if (p->child) return;
    CaseReport r = ended(&(ChildEnd){.fate = CHILD_NOT_BORN, .printed = ""}, &limits, NULL);
    give_up(&r);
}

/* The case of the built-in reference; NULL: there is none. */
static const CheckCase *like_case(const Plan *p, const char *name) {
    int cases = p->like ? p->like->n_cases : 0;
    for (int k = 0; k < cases; k++)
        if (strncmp(p->like->cases[k].name, name, REPORT_NAME - 1) == 0) return &p->like->cases[k];
    return NULL;
}

static double largest_error(const CaseReport *r) {
    double largest = 0;
    for (int i = 0; i < r->inputs; i++) largest = fmax(largest, r->in[i].error);
    return largest;
}

static bool is_worse(const CaseReport *a, const CaseReport *b) {
    return a->verdict > b->verdict ||
           (a->verdict == b->verdict && largest_error(a) > largest_error(b));
}

/* Judges the item, the first of those that are left, at the points of all seeds; returns the worst
 * report. */
static CaseReport judge_item(Judging *j, long left) {
    const Plan *p = j->run->plan;
    const PlanItem *item = j->item;
    CheckOptions how = {.runner = program_run,
                        .added = item->added,
                        .nondeterminism = p->nondeterminism,
                        .reference = like_case(p, item->c.name),
                        .functions = j->run->functions};
    CheckCase c = item->c;
    Program own = {0}, fresh = {0}, reference = {0};
    CaseReport worst;
    c.name = item->name;
    if (how.functions) {
        if (j->functions.child)
            j->functions.begin = functions_line(item);
        else
            start(j, &j->functions, false, left);
        how.program = &j->functions;
    } else if (p->folder) {
        start(j, &own, false, 1);
        start(j, &fresh, false, 1);
        how.program = &own;
        how.fresh = &fresh;
    }
    if (!p->like && p->reference) {
        start(j, &reference, true, 1);
        how.reference = &c;
        how.reference_program = &reference;
    }
    for (long k = 0; k < p->seeds; k++) {
        how.seed = p->seed + (uint64_t)k;
        gradcheck_case_with(item->op, &c, &how, &j->report);
        how.fresh = NULL;
        if (k == 0 || is_worse(&j->report, &worst)) worst = j->report;
    }
    Child *const used[] = {own.child, fresh.child, reference.child};
    for (int k = 0; k < 3; k++)
        if (used[k]) child_stop(used[k]);
    return worst;
}

static void judge_items(void *context, long job) {
    const PlanRun *run = context;
    const PlanItem *item = run->plan->item;
    Judging j = {.run = run};
    long i, end = items_of_job(run, job, &i);
    pool_set_threads(1); /* the cases run side by side */
    for (; i < end && item[i].index >= 0; i++) {
        CaseReport r = {.verdict = FAIL};
        j.item = &item[i];
        bool skipped = item[i].added && run->never_ends && strcmp(run->never_ends, item[i].op) == 0;
        if (!skipped) r = judge_item(&j, end - i);
        child_send(&r, sizeof r);
    }
    if (j.functions.child) child_stop(j.functions.child);
}

/* ---- In the process of the run ---- */

/* An added case counts if it ran and passed, or has a wrong gradient. */
static bool is_wanted(const PlanItem *item, const CaseReport *r) {
    bool found = r->verdict == PASS;
    for (int i = 0; i < r->inputs; i++) found |= r->in[i].wrong > 0;
    return !item->added || (found && report_broken(r) != PROPERTY_READ_ONLY);
}

/* A function that fails only at a size of the checker's may have a size among its constants:
 * inconclusive. */
static void doubt_size(const PlanRun *run, const PlanItem *item, CaseReport *r) {
    char reason[REPORT_TEXT];
    if (item->resized < 0 || r->verdict != FAIL || !run->functions) return;
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
    for (; run->next < p->items && run->report[run->next]; run->next++) {
        pass_on(run, &p->item[run->next], run->report[run->next]);
        free(run->report[run->next]);
    }
}

/* Takes the reports of a judge. If it has ended too soon, the case at hand has none. */
static void take_reports(void *context, long job, const ChildEnd *end) {
    PlanRun *run = context;
    CaseReport r;
    long i, last = items_of_job(run, job, &i), count = (long)(end->size / sizeof r);
    if (last - i < count) count = last - i;
    for (long k = 0; k < count; k++) {
        memcpy(&r, end->result + (size_t)k * sizeof r, sizeof r);
        take_report(run, i++, &r);
    }
    if (i == last || (count && end->fate == CHILD_DONE)) return;
    r = ended(end, &run->limits, NULL);
    if (run->plan->item[i].index < 0) REPORT_SET(r.trouble, run->plan->item[i].trouble);
    take_report(run, i, &r);
}

void plan_run(const Plan *p, void (*sink)(void *context, const CaseReport *r), void *context) {
    PlanRun run = {.plan = p,
                   .functions = plan_has_functions(p),
                   .limits = p->limits,
                   .sink = sink,
                   .context = context};
    run.report = calloc((size_t)p->items + 1, sizeof *run.report);
    if (!run.report) error_no_memory("reports");
    while (run.next < p->items) {
        ChildLimits judge = run.limits;
        /* A program must run out of time before its judge. */
        if (p->folder || run.functions) judge = (ChildLimits){.seconds = 2 * p->limits.seconds + 1};
        if (run.functions) judge.seconds *= MAX_TOGETHER;
        memcpy(judge.keep, p->keep, sizeof p->keep);
        child_run_all(run.functions ? 1 : p->items, pool_threads(), &judge, judge_items,
                      take_reports, &run);
    }
    free(run.report);
}
