/* Many cases checked side by side. Each case has processes of its own, with limits of time and memory: one
 * judges, one runs the student's code in a sandbox (protocol.h, check/sandbox.h), one the reference.
 * However a process ends, the case gets a verdict. */
#ifndef GRADING_CHECK_CASES_H
#define GRADING_CHECK_CASES_H

#include "base/arena.h"
#include "check/child.h"
#include "check/gradcheck/gradcheck.h"
#include "check/grading/student_op.h"
#include "ops/ops.h"

typedef struct CheckItem {
    char op[REPORT_NAME], name[REPORT_NAME];
    int index;   /* of the case in the operation's table; -1: there is nothing to run, `trouble` says why */
    CheckCase c; /* of a student's file: without `build` */
    bool added;  /* by the checker: counts only if the operation accepts its sizes */
    const char *arguments;     /* for functions, as members of JSON; NULL: their own */
    char trouble[REPORT_FULL]; /* printable; may have several lines */
} CheckItem;

enum { PYTHON_LIBRARY = 1 << 13 };

/* Libraries in the folder of a file that is judged, by the names under which its processes load them. */
#define PLAN_OWN   "./op.so"
#define PLAN_CASES "./cases.so"

typedef struct CheckPlan {
    Arena arena; /* of names and values of a student's cases */
    CheckItem *item;
    long items, capacity;
    const char *folder; /* of the file that is judged; NULL: operations are built in */

    /* A teacher's cases, which call the file's tape_NAME: their library, copied to PLAN_CASES for each file.
     * NULL: the file's own cases count. */
    const char *cases;
    /* The reference whose forward is compared: a built-in operation, or a library. Both NULL: none. */
    const Op *like;
    const char *reference;
    /* Functions of another language: the command that serves them, and what its interpreter may read, one path a line; or a
     * process that serves them already. Both NULL: C. */
    char **program;
    const char *library;
    Child *attached;
    bool teachers;         /* cases in Python: none are made from them */
    int keep[CHILD_KEEPS]; /* the open files of the libraries, which may have no name any more */

    double nondeterminism; /* CheckOptions */
    uint64_t seed;
    long seeds; /* points of each case: those of `seeds` seeds from `seed` on; at least 1 */
    ChildLimits limits;
} CheckPlan;

/* Adds the cases of a built-in operation whose names contain `part` (NULL: all). Returns how many. */
int plan_add(CheckPlan *p, const Op *op, const char *part);

/* Adds one more, to be filled in. Others may move. */
CheckItem *plan_item(CheckPlan *p, const char *op, const char *name, int index);

/* Fills a report for each item, which has failed for this reason: the state before anything is judged. */
void plan_unjudged(const CheckPlan *p, const char *why, CaseReport *report);

/* Adds cases made from the first suitable case of an operation, whose cases begin at `first`. */
void plan_add_made(CheckPlan *p, long first);

void plan_free(CheckPlan *p);

/* Checks all items, and hands their reports to `sink` in the plan's order as soon as they are there. */
void plan_run(const CheckPlan *p, void (*sink)(void *context, const CaseReport *r), void *context);

/* ---- A student's C file: checked at a teacher's cases, or at its own and some made from them ---- */

/* A C file and what it is judged by. */
typedef struct StudentFile {
    const char *source;
    const char *cases; /* a teacher's C file of cases: op_NAME with CASES; NULL: none */
    /* An operation of this project, or a teacher's C file of one: its forward is compared, and without
     * `cases` its cases are used. NULL: none. */
    const char *like;
    const char *folder;              /* where it is compiled and runs: its own */
    const char *headers;             /* the project's src */
    bool solution;                   /* a file that includes the project's own operations is refused */
    char warnings[COMPILE_WARNINGS]; /* the compiler's, once it is added */
} StudentFile;

/* Compiles the teacher's files in f->folder and adds their cases; does nothing if the student's own cases
 * count. The libraries are kept open and unlinked if the system can load such files. False:
 * STATUS_NO_INPUT, STATUS_BAD_DATA: the cases do not compile. */
bool plan_add_given(CheckPlan *p, const StudentFile *f, Error *e);

/* Compiles the file in f->folder. Without given cases it adds the file's own, and others made from the first:
 * other sizes and larger values. If the file cannot be compiled or loaded, every case fails, or one item that
 * stands for all. False: other errors (no such file, no headers, no compiler). */
bool plan_add_file(CheckPlan *p, StudentFile *f, Error *e);

#endif
