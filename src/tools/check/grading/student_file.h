/* Files of students, checked at a teacher's cases, or at their own and some made from them. */
#pragma once

#include "base/directory.h"
#include "check/grading/plan.h"

enum { COMPILE_WARNINGS = 1024 };

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

/* ---- A C file of a student or a teacher, in the form of src/core/ops/NAME.c, is compiled with $CC
 * into a library (compile.c) ----
 *
 * A student's file defines `const Op op_NAME` with its cases, and the function that records it; it
 * may define several. Its own definitions take precedence over the program's of the same name. */

typedef enum StudentKind {
    STUDENTS,      /* calls of its own functions stay its own */
    TEACHERS,      /* calls of its own functions go to those of a library that was loaded before */
    TEACHERS_CASES /* the same, without the functions of its operations (check/cases_only.h) */
} StudentKind;

typedef struct StudentSource {
    const char *source, *library; /* the C file, and the shared library that is made of it */
    const char *name;             /* of the source in messages; NULL: its own */
    StudentKind kind;
    const char *const *hidden; /* files that it may not include, up to a NULL; NULL: none */
    const char *project;       /* nor any below this directory; NULL: none */
    const char *headers;       /* the project's src or a copy of it; set by student_compile */

    /* STATUS_NO_INPUT: there is no such source, or there are no headers. STATUS_UNAVAILABLE: there
     * is no compiler. STATUS_NO_MEMORY: the machine lacks memory, processes or space on its disk.
     * STATUS_NO: it does not compile, or includes what it may not; the text has the first line of
     * the reason. */
    Error error;
    char message[REPORT_FULL]; /* of STATUS_NO: the first error with its line of the file, in lines
                                */
    char warnings[COMPILE_WARNINGS]; /* printable, of one that compiles; "" for none */
    bool clashes;                    /* it defines a name of the project's headers, otherwise */
} StudentSource;

/* The project's src: next to this program, or to the directory in which it was built. */
const char *student_headers(char path[PATH_CAPACITY]);

/* Compiles the source with these headers, the project's src or a copy of it. Of a name that both
 * define, the source sees its own. */
bool student_compile(StudentSource *s, const char *headers);

enum { STUDENT_NAME = 64 };

/* The names of the operations that a source defines, without `op_`: at most `most`. Returns their
 * number. */
int student_names(const char *source, char (*names)[STUDENT_NAME], int most, Error *e);

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

/* ---- Python (functions.c) ---- */

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
