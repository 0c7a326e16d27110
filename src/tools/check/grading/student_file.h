/* Files of students, checked at a teacher's cases, or at their own and some made from them. */
#pragma once

#include "check/grading/compile.h"
#include "check/grading/plan.h"

/* A file and what it is judged by. */
typedef struct StudentFile {
    const char *name;   /* as it was handed in, without directories, printable */
    const char *source; /* its copy in `folder` */
    const char *cases;  /* a teacher's file of cases: in C op_NAME with CASES; NULL: none */
    /* An operation of this project, or a teacher's C file of one: its forward is compared, and
     * without `cases` its cases are used. NULL: none. */
    const char *like;
    const char *folder;   /* where it is compiled and runs: its own */
    const char *headers;  /* the project's src */
    const char *readable; /* a copy of what a student's file may include from it */
    bool solution;        /* a file that includes the project's own operations is refused */
    char warnings[COMPILE_WARNINGS]; /* the compiler's, once it is added */
} StudentFile;

/* Compiles the teacher's C files in f->folder and adds their cases; does nothing if the student's
 * own cases count. The libraries are kept open and unlinked if the system can load such files.
 * False: STATUS_NO_INPUT, STATUS_BAD_DATA: the cases do not compile. */
bool student_add_given(Plan *p, const StudentFile *f, Error *e);

/* Compiles a C file in f->folder. Without given cases it adds the file's own, and others made from
 * the first. If the file cannot be compiled or loaded, every case fails, or one item that stands
 * for all. False: other errors (no such file, no headers, no compiler). */
bool student_add_file(Plan *p, StudentFile *f, Error *e);

/* ---- The process of a C file (serve.c) ---- */

typedef struct ServedFile {
    const char *name;     /* of the operation */
    const char *folder;   /* where the code is confined; NULL: it is not */
    const char *solution; /* the library that has tape_NAME, which the cases call; NULL: the same */
    const char *cases;    /* the library that has op_NAME */
    bool lazily;          /* functions that it calls may be missing */
} ServedFile;

/* A child's job: serves the cases of a ServedFile until the judge ends. If it cannot, the last line
 * that it prints says why. */
void serve_file(void *file, long i);

/* Puts the first line and its arrays. */
void serve_list(const char *function, const CheckCase *cases, int count);

/* ---- Python (python_file.c) ---- */

/* Finds the interpreter and what it reads, for all files of the plan; sets neither if there is none
 * with NumPy. */
void python_find(Plan *p);

/* Adds the cases at which a Python file is judged, and sets the program to its interpreter: cases
 * in Python, those of the operation that it is like, those of a teacher's C file that are in the
 * plan, or the file's own. The file and what serves it are copied to f->folder. */
bool python_add_file(Plan *p, const StudentFile *f, Error *e);

/* ---- An operation of this project as an exercise (template.c) ---- */

/* Prints it in a language ("c", "python"): its file src/core/ops/NAME.c without its derivation and
 * without the parts between the comments "exercise: begin" and "exercise: end". The first part
 * holds forward and backward; the exercise has empty ones in its place. The others hold cases that
 * need further operations, and functions that a student's file has no use for. False: STATUS_USAGE:
 * there is no such operation or language; STATUS_NO_INPUT: its source cannot be read. */
bool template_print(const char *name, const char *language, const char *headers, FILE *out,
                    Error *e);
