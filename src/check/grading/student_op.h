/* A student's operation: a C file in the form of src/ops/NAME.c, compiled with $CC and loaded.
 *
 * The file defines `const Op op_NAME` with its cases, and the function that records it; it may define
 * several. Its own definitions take precedence over the program's of the same name. Loading a file runs
 * its code, so it happens in a child process (child.h) and in the sandbox (check/sandbox.h). */
#ifndef GRADING_STUDENT_OP_H
#define GRADING_STUDENT_OP_H

#include "autograd/check_case.h"
#include "autograd/op.h"
#include "base/arena.h"
#include "base/directory.h"
#include "check/grading/compile.h"
#include <stdio.h>

enum { STUDENT_NAME = 64 };

/* The names of the operations that a source defines, without `op_`: at most `most`. Returns their number. */
int student_names(const char *source, char (*names)[STUDENT_NAME], int most, Error *e);

/* Loads the library and returns its op_NAME. The library stays loaded. `lazily`: functions that it calls
 * may be missing. NULL: the error has the reason. */
const Op *student_load(const char *library, const char *name, bool lazily, Error *e);

/* Loads a library that defines tape_NAME, for the cases in a library that is loaded after it. */
bool student_load_solution(const char *library, const char *name, Error *e);

/* ---- Check cases in the form in which a student's process sends them: everything except code
 * (student_case.c) ---- */

/* Sends the cases from a job (child.h). */
void student_send_cases(const CheckCase *cases, int count);

/* Reads the case at *at and advances *at. Names and values belong to the arena; `build` is NULL. False: no
 * valid case before `end`. */
bool student_take_case(const char **at, const char *end, CheckCase *c, Arena *arena);

/* ---- An operation of this project as an exercise: its file src/ops/NAME.c without its derivation and
 * without the parts between the comments "exercise: begin" and "exercise: end" (template.c). The first
 * part holds forward and backward; the template has empty ones in its place. The others hold cases that
 * need further operations, and functions that a student's file has no use for ---- */

/* Prints the template from the source below `headers`, the project's src. False: STATUS_USAGE: there is no
 * such operation; STATUS_NO_INPUT: its source cannot be read. */
bool template_print(const char *name, const char *headers, FILE *out, Error *e);

#endif
