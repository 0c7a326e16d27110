/* Files: read whole, and written so that a reader sees the old file or the finished one, never a part. */
#ifndef BASE_FILE_H
#define BASE_FILE_H

#include "base/error.h"
#include <stddef.h>
#include <stdint.h>

/* Reads all of a regular file into *data, to be freed by the caller, with a NUL behind its *size bytes.
 * STATUS_NO_INPUT if it cannot be opened or is no regular file (a directory, a FIFO, a device),
 * STATUS_BAD_DATA if it has more than `limit` bytes (0: any number will do), STATUS_IO if reading fails,
 * STATUS_NO_MEMORY. */
bool file_read(const char *path, size_t limit, char **data, size_t *size, Error *e);

/* A number that the file at `path` has until another takes its place; 0: none is there. */
uint64_t file_identity(const char *path);

/* Where another kind of file is than a regular one, STATUS_CANNOT_CREATE; nothing there is no error. */
bool file_may_be_written(const char *path, Error *e);

/* A file being written. It grows under another name, `.NAME.tapeformer-tmp` beside the target, and takes the
 * target's name when it is complete and on disk:
 *
 *     File *f = file_create("runs/copy/model.safetensors", e);
 *     if (!f) return false;
 *     file_write(f, header, n);
 *     file_write(f, weights, bytes);
 *     return file_commit(f, e);
 *
 * Whatever fails, the old file stays as it was and the other name is gone. A kill leaves the other name
 * behind; the next file_create removes it. A write that fails is remembered: later writes do nothing, commit
 * reports it. */
typedef struct File File;

/* Starts writing. Where path is a symbolic link, the file that it leads to is the target, and the link stays.
 * NULL with STATUS_CANNOT_CREATE: also where the target is no regular file or is write-protected, and where
 * another process is writing it. */
File *file_create(const char *path, Error *e);

/* Appends bytes; what fails is told by file_commit. */
void file_write(File *f, const void *data, size_t size);
void file_print(File *f, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* What file_create was given. */
const char *file_path(const File *f);

/* False: another folder than the one that the file is written in is where that was, which somebody has
 * moved. */
bool file_keeps_folder(const File *f);

/* Has the disk keep room for `size` bytes, so that a full one shows before the work and not after it.
 * STATUS_IO; no error where the file system cannot do it. */
bool file_reserve(File *f, size_t size, Error *e);

/* Puts the file on disk and in its place, and frees f. False: STATUS_IO. */
bool file_commit(File *f, Error *e);

/* Leaves the target alone, removes what was written, and frees f. NULL is no mistake. */
void file_abandon(File *f);

#endif
