/* Many cases checked, each in a process of its own, with limits on time and memory: whatever happens in one,
 * it is a verdict, and the others are checked. A student's code runs in yet another, the case's host (check_host.h): the
 * process that judges has none of it. */
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
    bool added;  /* nobody wrote it: it counts where the operation takes its sizes */
    char trouble[REPORT_TEXT];
} CheckItem;

typedef struct CheckPlan {
    Arena arena; /* of names and values of a student's cases */
    CheckItem *item;
    long items, capacity;
    const char *library;   /* where the operations are, as student_compile made it; NULL: built in */
    const char *cases;     /* another that has the cases, which call tape_NAME of the first; NULL: its own */
    const char *reference; /* one whose forward they have to give as well, with these cases; NULL: any */
    uint64_t seed;
    long seeds; /* each case is checked at the points of so many seeds, `seed` and those that follow; at least
                   1 */
    bool curves;
    int at_once;
    ChildLimits limits;
} CheckPlan;

/* In a process of its own: the item's case, of the plan's library, which is then loaded. Ends the process where it cannot be. */
const CheckCase *plan_load_case(const CheckPlan *p, const CheckItem *item);

/* Adds the cases of a built-in operation whose names contain `part` (NULL: all). Returns how many. */
int plan_add(CheckPlan *p, const Op *op, const char *part);

/* Adds one more, to be filled in. Others may move. */
CheckItem *plan_item(CheckPlan *p, const char *op, const char *name, int index);

/* What there is to say as long as nothing is judged: a report for each item, that it failed for this reason. */
void plan_unjudged(const CheckPlan *p, const char *why, CaseReport *report);

void plan_free(CheckPlan *p);

/* Checks all items, and hands their reports to `sink` in the plan's order as soon as they are there. */
void plan_run(const CheckPlan *p, void (*sink)(void *context, const CaseReport *r), void *context);

#endif
