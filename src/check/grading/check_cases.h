/* Many cases checked side by side. Each case has processes of its own, with limits of time and memory: one
 * judges, one runs the student's code in a sandbox (check_host.h, check/sandbox.h), one the reference.
 * However a process ends, the case gets a verdict. */
#ifndef GRADING_CHECK_CASES_H
#define GRADING_CHECK_CASES_H

#include "base/arena.h"
#include "check/gradcheck/child.h"
#include "check/gradcheck/gradcheck.h"
#include "ops/ops.h"

typedef struct CheckItem {
    char op[REPORT_NAME], name[REPORT_NAME];
    int index;   /* of the case in the operation's table; -1: there is nothing to run, `trouble` says why */
    CheckCase c; /* of a student's file: without its code, and under no name */
    bool added;  /* by the checker: counts only if the operation accepts its sizes */
    char trouble[REPORT_TEXT];
} CheckItem;

/* Libraries in the folder of a file that is judged, by the names under which its processes load them. */
#define PLAN_OWN   "./op.so"
#define PLAN_CASES "./cases.so"

typedef struct CheckPlan {
    Arena arena; /* of names and values of a student's cases */
    CheckItem *item;
    long items, capacity;
    const char *folder; /* of the file that is judged; NULL: operations are built in */
    bool given; /* the cases are a teacher's, and call tape_NAME of the file: PLAN_CASES, not its own */

    const char *cases; /* their library, by the path under which it is loaded here; NULL: not given */

    /* The forward that is wanted as well: of a built-in operation, or of a library that is loaded here. Both
     * NULL: any forward will do. */
    const Op *like;
    const char *reference;
    int keep[CHILD_KEEPS]; /* the open files of these libraries */

    uint64_t seed;
    long seeds; /* points of each case: those of `seeds` seeds from `seed` on; at least 1 */
    int at_once;
    ChildLimits limits;
} CheckPlan;

/* Adds the cases of a built-in operation whose names contain `part` (NULL: all). Returns how many. */
int plan_add(CheckPlan *p, const Op *op, const char *part);

/* Adds one more, to be filled in. Others may move. */
CheckItem *plan_item(CheckPlan *p, const char *op, const char *name, int index);

/* Fills one report for each item, that says it failed for this reason: the state before anything is
 * judged. */
void plan_unjudged(const CheckPlan *p, const char *why, CaseReport *report);

void plan_free(CheckPlan *p);

/* Checks all items, and hands their reports to `sink` in the plan's order as soon as they are there. */
void plan_run(const CheckPlan *p, void (*sink)(void *context, const CaseReport *r), void *context);

#endif
