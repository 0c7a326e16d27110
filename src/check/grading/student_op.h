/* A student's operation: a C file in the form of src/ops/NAME.c, compiled with $CC and loaded.
 *
 * The file defines `const Op op_NAME` with its cases, and the function that records it; it may define
 * several. Its own definitions take precedence over the program's of the same name. Loading a file runs
 * its code, so it happens in a child process (child.h) and in the sandbox (check/sandbox.h). */
#ifndef GRADING_STUDENT_OP_H
#define GRADING_STUDENT_OP_H

#include "autograd/op.h"

enum { STUDENT_NAME = 64 };

/* The names of the operations that a source defines, without `op_`: at most `most`. Returns their number. */
int student_names(const char *source, char (*names)[STUDENT_NAME], int most, Error *e);

/* Loads the library and returns its op_NAME. The library stays loaded. `lazily`: functions that it calls
 * may be missing. NULL: the error has the reason. */
const Op *student_load(const char *library, const char *name, bool lazily, Error *e);

/* Loads a library that defines tape_NAME, for the cases in a library that is loaded after it. */
bool student_load_solution(const char *library, const char *name, Error *e);

#endif
