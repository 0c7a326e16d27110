/* Directories. */
#pragma once

#include "base/error.h"

/* Creates the directory and its parents, unless they exist. STATUS_CANNOT_CREATE. */
bool directory_make(const char *path, Error *e);

/* Writes "DIRECTORY/NAME" into out. False with `status` if it is too long, or if DIRECTORY is
 * empty, as an unset variable of a shell is. */
enum { PATH_CAPACITY = 4096 };
bool directory_file(char out[PATH_CAPACITY], const char *directory, const char *name, Status status,
                    Error *e);

/* Whether the path has this ending, after at least one character. */
bool directory_ends_in(const char *path, const char *ending);
