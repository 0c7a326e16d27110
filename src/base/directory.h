/* Directories for output. */
#ifndef BASE_DIRECTORY_H
#define BASE_DIRECTORY_H

#include "base/error.h"

/* Makes the directory and those above it; one that is there already is no error. STATUS_CANNOT_CREATE. */
bool directory_make(const char *path, Error *e);

#endif
