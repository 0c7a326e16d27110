/* Directories. */
#ifndef BASE_DIRECTORY_H
#define BASE_DIRECTORY_H

#include "base/error.h"

/* Makes the directory and those above it; one that is there already is no error. STATUS_CANNOT_CREATE. */
bool directory_make(const char *path, Error *e);

/* Makes a folder for files that nobody keeps, in $TMPDIR or else /tmp, and writes its path;
 * STATUS_CANNOT_CREATE. Where no code may run from there, as many a machine is set up, it is in another
 * folder of the kind, or in the working directory. */
enum { TEMPORARY_PATH = 256 };
bool directory_temporary(char path[TEMPORARY_PATH], Error *e);

/* Removes a folder that holds files alone, and these. */
void directory_remove(const char *path);

/* True if nothing is in the directory; also if it cannot be read. */
bool directory_empty(const char *path);

/* Whether the path has this ending, and something before it. */
bool directory_ends_in(const char *path, const char *ending);

/* The files below the directory with this ending, by their way from it, in order. What begins with a dot
 * is left out, and links to directories are not followed. False with STATUS_NO_INPUT: something cannot be
 * read. */
typedef struct FileNames {
    char **name;
    long count, capacity;
} FileNames;
bool directory_files(const char *path, const char *ending, FileNames *out, Error *e);
void directory_files_free(FileNames *f);

/* Writes "DIRECTORY/NAME" into out. False with `status`: it is longer than a path can be, or DIRECTORY is
 * empty, as a variable of a shell is that is not set. */
enum { PATH_ROOM = 4096 };
bool directory_file(char out[PATH_ROOM], const char *directory, const char *name, Status status, Error *e);

#endif
