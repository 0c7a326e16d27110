/* A C file to start an exercise from: an operation with its cases, whose forward and backward are to be written. */
#ifndef GRADING_TEMPLATE_H
#define GRADING_TEMPLATE_H

#include "base/error.h"
#include <stdio.h>

/* Prints one for this operation. STATUS_USAGE: there is none, or it takes arguments that are no tensors, of which a case
 * table says nothing. */
bool template_print(const char *name, FILE *out, Error *e);

#endif
