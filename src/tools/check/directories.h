/* Directories and files of the checker: temporary directories, files to grade, files of text. */
#pragma once

#include "base/error.h"
#include <stdint.h>
#include <stdio.h>

/* Creates a temporary directory and writes its path: in $TMPDIR or else /tmp, or, if no code may
 * run from there, in another directory of the kind or the working directory. It is removed when
 * this process exits. STATUS_CANNOT_CREATE. */
enum { TEMPORARY_PATH = 256 };
bool directory_temporary(char path[TEMPORARY_PATH], Error *e);

/* Removes a directory and everything in it. Links are removed and not followed. */
void directory_remove(const char *path);

/* The bytes of the files in the directory and below, of which each counts at least 4096; SIZE_MAX
 * if it is too deep. */
size_t directory_bytes(const char *path);

/* The bytes that an ordinary user may still write to the directory's file system; SIZE_MAX:
 * unknown. */
size_t directory_free_bytes(const char *path);

/* The name of a file, without the directories before it. */
const char *file_name(const char *path);

/* Copies a regular file to FOLDER/NAME, which must not be there. `shown` is the name in messages of
 * a file that was handed in, which must not be a link; NULL: of another file.
 * STATUS_CANNOT_CREATE, STATUS_NO_INPUT. */
bool file_copy(const char *from, const char *shown, const char *folder, const char *name, Error *e);

/* Names of files. */
typedef struct FileNames {
    char **name;
    long count, capacity;
} FileNames;

/* Finds the files and links in the directory and below with one of these endings, up to a NULL:
 * their paths from it, in order. `left` gets the files with other endings and the directories that
 * cannot be read; NULL: not wanted. Names that begin with a dot are in neither, and links to
 * directories are not followed. STATUS_NO_INPUT: it cannot be read. */
bool directory_files(const char *path, const char *const *endings, FileNames *out, FileNames *left,
                     Error *e);
void directory_files_free(FileNames *f);

/* Copies the files with these endings and their directories to a directory that is made.
 * STATUS_CANNOT_CREATE, STATUS_NO_INPUT. */
bool directory_copy(const char *from, const char *const *endings, const char *to, Error *e);
