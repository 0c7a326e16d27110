/* An operation that somebody else wrote: a C file in the form of src/ops/NAME.c, compiled with $CC and
 * loaded.
 *
 * The file defines `const Op op_NAME` with its cases and the function that records it; several operations in
 * a file are several checks. What it defines itself takes the place of what the program has under the same
 * name.
 *
 * Everything that runs the student's code belongs into a child process (check/gradcheck/child.h), and into a
 * sandbox (check/sandbox.h): loading it already does. */
#ifndef GRADING_STUDENT_OP_H
#define GRADING_STUDENT_OP_H

#include "autograd/op.h"
#include "base/directory.h"

enum { STUDENT_NAME = 64, STUDENT_WARNINGS = 1024 };

typedef enum StudentKind {
    STUDENTS,      /* calls of its own functions stay its own */
    TEACHERS,      /* calls of its own functions go to those of a library that was loaded before */
    TEACHERS_CASES /* the same, without the functions of its operations (check/cases_only.h) */
} StudentKind;

typedef struct StudentSource {
    const char *source, *library; /* the C file, and the shared library that is made of it */
    StudentKind kind;
    const char *const *hidden; /* files that it cannot include, up to a NULL; NULL: none */

    /* STATUS_NO_INPUT: there is no such source, or there are no headers; STATUS_BUG: there is no compiler;
     * STATUS_NO: it does not compile, and the text has the compiler's first error. */
    Error error;
    char warnings[STUDENT_WARNINGS]; /* of one that compiles; "" for none */
} StudentSource;

/* The project's src, which stands beside this program, or beside the folder that it was built in. */
const char *student_headers(char path[PATH_ROOM]);

/* Compiles the sources, side by side, with the headers in `headers` (the project's src). True if all went
 * well. */
bool student_compile(StudentSource *s, int count, const char *headers);

/* The first file that the source of this library includes and must not: one of the headers' folder that is
 * no header, as "ops/softmax.c", unless `headers` is NULL, or a hidden one. To be freed; NULL: none. */
char *student_includes(const StudentSource *s, const char *headers);

/* The names of the operations that a source defines, `op_` left out: at most `most`. Returns how many. */
int student_names(const char *source, char (*names)[STUDENT_NAME], int most, Error *e);

/* Loads the library and finds op_NAME in it. NULL: the error says why. The library stays loaded. `lazily`:
 * what it calls need not be there. */
const Op *student_load(const char *library, const char *name, bool lazily, Error *e);

/* Loads a library that defines tape_NAME, for the cases of another that is loaded behind it. */
bool student_load_solution(const char *library, const char *name, Error *e);

#endif
