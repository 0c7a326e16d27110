/* A student's C file as a plan of checks: at a teacher's cases, or at its own and some that are made from
 * them. */
#ifndef GRADING_CHECK_STUDENT_H
#define GRADING_CHECK_STUDENT_H

#include "check/grading/check_cases.h"
#include "check/grading/student_op.h"

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
    char warnings[STUDENT_WARNINGS]; /* the compiler's, once it is added */
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
