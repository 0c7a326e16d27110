/* An operation of this project as an exercise: its file src/ops/NAME.c without its derivation and without the parts between
 * the comments "exercise: begin" and "exercise: end". The first part holds forward and backward; the exercise has empty ones
 * in its place. The others hold cases that need further operations, and functions that a student's file has no use for. */
#ifndef GRADING_TEMPLATE_H
#define GRADING_TEMPLATE_H

#include "base/error.h"
#include <stdio.h>

/* Prints the exercise in a language ("c", "python"), from the source below `headers`, the project's src. False:
 * STATUS_USAGE: there is no such operation or language; STATUS_NO_INPUT: its source cannot be read. */
bool template_print(const char *name, const char *language, const char *headers, FILE *out, Error *e);

#endif
