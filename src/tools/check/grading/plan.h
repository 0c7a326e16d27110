/* Cases to be checked, and what they are checked by. Each case has processes of its own, with
 * limits of time and memory: one judges, one runs the student's code in a sandbox
 * (check/messages.h, check/sandbox.h), one the reference. However a process ends, the case gets a
 * verdict. */
#pragma once

#include "base/arena.h"
#include "check/gradcheck/gradcheck.h"
#include "check/messages.h"
#include "ops/ops.h"

typedef struct PlanItem {
    char op[REPORT_NAME], name[REPORT_NAME];
    int index;    /* of the case in the operation's table; -1: nothing to run, `trouble` says why */
    CheckCase c;  /* of a student's file: without `build` */
    bool added;   /* by the checker: counts only if the operation accepts its sizes */
    long resized; /* a size that the checker has chosen; -1: none */
    const char *arguments;     /* for functions, as members of JSON; NULL: their own */
    char trouble[REPORT_FULL]; /* printable; may have several lines */
} PlanItem;

enum { PLAN_CASES_MAX = 256 }; /* of an operation or a program, without those that are added */

/* Libraries in the folder of a file that is judged, by the names under which they are loaded. */
#define PLAN_OWN   "./op.so"
#define PLAN_CASES "./cases.so"

typedef struct Plan {
    Arena arena; /* of names and values of a student's cases */
    PlanItem *item;
    long items, capacity;
    const char *folder; /* of the file that is judged; NULL: operations are built in */

    /* A teacher's cases, which call the file's tape_NAME: their library, copied to PLAN_CASES for
     * each file. NULL: the file's own cases count. */
    const char *cases;
    bool given; /* the cases are a teacher's: none are made from them */
    /* The reference whose forward is compared: a built-in operation, or a library. */
    const Op *like;
    const char *reference;
    int keep[CHILD_KEEPS]; /* the open files of the libraries, which may have no name any more */

    /* Functions of another language: the command that serves them, and what its interpreter may
     * read, the interpreter first, NULL last; or a process that serves them already. Without
     * command and process: C. */
    char **program;
    const char *const *readable;
    Error no_python; /* why there is no interpreter */
    Child *attached;

    double nondeterminism; /* CheckOptions */
    uint64_t seed;
    long seeds; /* points of each case: those of `seeds` seeds from `seed` on; at least 1 */
    ChildLimits limits;
} Plan;

/* Adds the cases of a built-in operation whose names contain `part` (NULL: all). Returns how many.
 */
int plan_add(Plan *p, const Op *op, const char *part);

/* Adds one more, to be filled in. Others may move. */
PlanItem *plan_item(Plan *p, const char *op, const char *name, int index);

/* Adds cases made from the first suitable case of an operation, whose cases begin at `first`: other
 * sizes, larger values. */
void plan_add_made(Plan *p, long first);

/* A copy of the text that lives as long as the plan: "A" or "A/B". */
char *plan_text(Plan *p, const char *a, const char *b);

/* The words of a text between these bytes, as long as the plan lives, up to a NULL. */
char **plan_words(Plan *p, const char *text, const char *separators);

void plan_free(Plan *p);

/* Whether functions of another language are judged, and not by Python, which this project serves.
 */
bool plan_has_functions(const Plan *p);
bool plan_is_foreign(const Plan *p);

/* Starts a process that serves the cases of an operation, and calls the file's functions or those
 * of the reference. NULL: there is none. */
Child *plan_start(const Plan *p, const char *op, bool reference, const ChildLimits *limits);

/* Fills in the subject of an item's report and what has to be judged. */
void plan_describe(const Plan *p, const PlanItem *item, CaseReport *r);

/* Checks all items, and hands their reports to `sink` in the plan's order as soon as they are there
 * (plan_run.c). */
void plan_run(const Plan *p, void (*sink)(void *context, const CaseReport *r), void *context);

/* ---- Functions of a program in another language (functions.c) ---- */

/* Sets the plan's program to a command, split at blanks, or to two open descriptors, "FROM,TO". */
bool functions_use(Plan *p, const char *command, Error *e);

/* Adds the cases of p->like that functions can take: the operation alone, on its inputs in order.
 */
void functions_add_like(Plan *p);

/* Adds the cases that the program lists, or those of p->like. A program that cannot be started is
 * an item with this trouble. */
void functions_add_cases(Plan *p, const char *name);

/* The line that names an item's case. To be freed. */
char *functions_line(const PlanItem *item);

/* ---- The cases that a program lists in its first line (listing.c) ---- */

/* Members of a case or of an input in that line, up to one without a key. Another kind is the
 * maximum of an integer. */
enum { LISTED_NUMBER = -1, LISTED_FLAG = -2 };
typedef struct ListedMember {
    const char *key;
    int kind;
    size_t offset;
} ListedMember;
extern const ListedMember listing_input[], listing_case[];

/* Takes the first line and its arrays. False: program->end or the error says why. */
bool listing_take(Program *program, Plan *heard, const char *name, Error *e);

/* Adds the cases that a process lists, and others made from them unless they are given. The process
 * is stopped. An item with the trouble stands for cases that cannot be listed. */
void listing_add(Plan *p, Child *child, const char *name);
