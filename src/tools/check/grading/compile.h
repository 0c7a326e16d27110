/* A C file of a student or a teacher, in the form of src/core/ops/NAME.c, is compiled with $CC into
 * a library, and loaded.
 *
 * A student's file defines `const Op op_NAME` with its cases, and the function that records it; it
 * may define several. Its own definitions take precedence over the program's of the same name. */
#pragma once

#include "autograd/op.h"
#include "base/directory.h"
#include "check/gradcheck/report.h"

enum { COMPILE_WARNINGS = 1024 };

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
