/* The other precision. `real` is float or double at compile time, so each build is a program.
 * build/double/gradcheck runs its twin build/float/gradcheck where it needs a computation in float. */
#ifndef GRADING_TWIN_H
#define GRADING_TWIN_H

#include "base/error.h"

/* Runs the float build with these arguments, up to a NULL, and waits for it. False: STATUS_NO_INPUT if
 * there is no float build, or the twin's own error. */
bool twin_run(const char *const *arguments, Error *e);

#endif
