/* A student's C file as a plan of checks: compiled, and its cases told by a process that has loaded it, or those that a
 * teacher gives. */
#ifndef GRADING_CHECK_STUDENT_H
#define GRADING_CHECK_STUDENT_H

#include "check/grading/check_cases.h"
#include "check/grading/student_op.h"

/* What a C file is judged by. */
typedef struct StudentFile {
    const char *source;
    const char *cases; /* a teacher's C file of cases: op_NAME with CASES alone; NULL: there is none */
    const char *like; /* an operation here, or a teacher's C file of one: its forward, and without `cases` its
                            cases, count; NULL: none */
    const char *folder;              /* for what is compiled; what is there of the cases serves again */
    const char *headers;             /* the project's src */
    bool solution;                   /* a file that includes the project's own is refused */
    char warnings[STUDENT_WARNINGS]; /* the compiler's, once it is added */
} StudentFile;

/* Adds all cases of all operations of a C file; where these are its own, beside them the first one with other sizes and
 * larger values. Where the file cannot be compiled or loaded, what would have been judged fails: all given cases, or one
 * item for all. Other errors (no such file, no headers, cases that do not compile) are e's; the plan then has the given
 * cases all the same. */
bool plan_add_file(CheckPlan *p, StudentFile *f, Error *e);

/* Adds the cases that are given, as for a file that is not known yet; nothing where a file's own count. Errors are those of
 * the cases. */
bool plan_add_given(CheckPlan *p, const StudentFile *f, Error *e);

#endif
