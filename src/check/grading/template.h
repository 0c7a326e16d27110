/* A C file to start an exercise from: an operation with its cases, whose forward and backward are to be written. */
#ifndef GRADING_TEMPLATE_H
#define GRADING_TEMPLATE_H

#include "base/error.h"
#include <stdio.h>

/* Prints one for this operation, from its source below `headers`, the project's src. False: STATUS_USAGE where there is no
 * such operation, STATUS_NO_INPUT where its source is not there. */
bool template_print(const char *name, const char *headers, FILE *out, Error *e);

#endif
