/* Directories and files of the checker: temporary directories, files to grade, files of text. */
#pragma once

#include "base/error.h"
#include <stdio.h>

/* Creates a temporary directory and writes its path: in $TMPDIR or else /tmp, or, if no code may run from
 * there, in another directory of the kind or the working directory. STATUS_CANNOT_CREATE. */
enum { TEMPORARY_PATH = 256 };
bool directory_temporary(char path[TEMPORARY_PATH], Error *e);

/* Removes a directory and the files in it; it must hold no directories. */
void directory_remove(const char *path);

/* The name of a file, without the directories before it. */
const char *file_name(const char *path);

/* Copies a regular file to FOLDER/NAME, which must not be there. STATUS_CANNOT_CREATE, STATUS_NO_INPUT. */
bool file_copy(const char *from, const char *folder, const char *name, Error *e);

/* The files in the directory and below with one of these endings, up to a NULL, and those that are left without it: their
 * paths from it, in order. Names that begin with a dot are in neither; links to directories are not followed. False with
 * STATUS_NO_INPUT if something cannot be read. */
typedef struct FileNames {
    char **name;
    long count, capacity;
} FileNames;
bool directory_files(const char *path, const char *const *endings, FileNames *out, FileNames *left, Error *e);
void directory_files_free(FileNames *f);
