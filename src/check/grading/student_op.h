/* An operation that somebody else wrote: a C file in the form of src/ops/NAME.c, compiled with $CC and
 * loaded.
 *
 * The file defines `const Op op_NAME` with its cases and the function that records it; several operations in
 * a file are several checks. What it defines itself takes the place of what the program has under the same
 * name.
 *
 * Everything that runs the student's code belongs into a child process (check/gradcheck/child.h): loading it already
 * does. */
#ifndef GRADING_STUDENT_OP_H
#define GRADING_STUDENT_OP_H

#include "autograd/op.h"
#include "base/directory.h"

enum { STUDENT_NAME = 64, STUDENT_WARNINGS = 1024, STUDENT_ERRORS = 4097, STUDENT_MORE = 8 };

typedef struct StudentSource {
    const char *source, *more[STUDENT_MORE]; /* and what is compiled with it; NULL behind the last */
    const char *library;                     /* the shared library that is made of it */
    bool
        open; /* calls of its own functions go to those of the same name in what was loaded before it: so check cases
                  call a student's */

    /* STATUS_NO_INPUT where there is no such source or there are no headers, STATUS_BUG where there is no compiler,
     * STATUS_NO where it does not compile: then the text has the compiler's first error. */
    Error error;
    char warnings[STUDENT_WARNINGS]; /* of one that does; "" for none */
    /* For a source that is tried, all NULL otherwise: a file in whose folder it finds headers as well, options of the compiler's
     * own, and room for STUDENT_ERRORS bytes of what it says. It is quick then, and warns of nothing. */
    const char *beside, *const *quiet;
    char *errors;
} StudentSource;

/* The project's src, which stands beside this program, or beside the folder that it was built in. */
const char *student_headers(char path[PATH_ROOM]);

/* Whether a student's code finds the function in this program. */
bool student_finds(const char *function);

/* Compiles the sources, side by side, with the headers in `headers` (the project's src). True if all went well. */
bool student_compile(StudentSource *s, int count, const char *headers);

/* The file of the headers' folder, other than a header, that a source includes, as "ops/softmax.c"; NULL: none. It was
 * compiled into this library. To be freed. */
char *student_includes(const char *library, const char *headers);

/* The names of the operations that a source defines, `op_` left out: at most `most`. Returns how many. */
int student_names(const char *source, char (*names)[STUDENT_NAME], int most, Error *e);

/* Loads the library and finds op_NAME in it. NULL: the error says why. The library stays loaded. `lazily`: what it calls
 * need not be there. */
const Op *student_load(const char *library, const char *name, bool lazily, Error *e);

/* What a loaded library has under this name, or NULL. */
void *student_symbol(const char *library, const char *name);

/* Loads a library that defines tape_NAME, for the cases of another that is loaded behind it. */
bool student_load_solution(const char *library, const char *name, Error *e);

#endif
