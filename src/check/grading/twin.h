/* The other precision. Programs come in two builds, in which `real` is double or float; the names are the
 * same in both, so they cannot be one program. Where the double one wants something computed in float, it
 * runs its float twin: build/double/gradcheck has build/float/gradcheck, and so has the copy at the top. */
#ifndef GRADING_TWIN_H
#define GRADING_TWIN_H

#include "base/error.h"

/* Runs the float build of this program with these arguments, NULL behind the last, and waits for its end.
 * False: STATUS_NO_INPUT where there is none beside this one; else the error that it ended with. */
bool twin_run(const char *const *arguments, Error *e);

#endif
