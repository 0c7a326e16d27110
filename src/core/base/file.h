/* Files: read whole; written so that a reader sees the old file or the complete new one. */
#pragma once

#include "base/error.h"
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Reads a regular file into *data, *size bytes and a NUL, which the caller frees. STATUS_NO_INPUT
 * if it cannot be opened or is no regular file, STATUS_BAD_DATA if it has more than `limit` bytes
 * (0: no limit), STATUS_IO if reading fails, STATUS_NO_MEMORY. */
bool file_read(const char *path, size_t limit, char **data, size_t *size, Error *e);

/* Opens a regular file for reading and tells its size. -1: STATUS_NO_INPUT, STATUS_IO. */
int file_open(const char *path, uintmax_t *bytes, Error *e);

/* A file as memory; the disk is read when a page is first used. The caller may change the bytes;
 * the file stays unchanged. If another process shortens the file meanwhile, SIGBUS ends this
 * process. */
typedef struct FileMap {
    char *data;
    size_t size;
} FileMap;

/* Maps a regular file of any size, for file_unmap; "-": all of stdin, which is read once and kept
 * in a temporary file. As file_open, or STATUS_NO_MEMORY, STATUS_IO. */
bool file_map(const char *path, FileMap *m, Error *e);
void file_unmap(FileMap *m); /* an empty map is no mistake */

/* A number that identifies the file at `path`: another file in its place has another number. 0: no
 * file. */
uint64_t file_identity(const char *path);

/* STATUS_CANNOT_CREATE if the path exists and is no regular file. */
bool file_may_be_written(const char *path, Error *e);

/* A file being written. It is a temporary file beside the target, `.NAME.tapeformer-tmp`, and is
 * renamed to the target when it is complete and on disk:
 *
 *     File *f = file_create("runs/copy/model.safetensors", e);
 *     if (!f) return false;
 *     file_write(f, header, n);
 *     file_write(f, weights, bytes);
 *     return file_commit(f, e);
 *
 * On failure the old file is unchanged and the temporary file is removed. The end of the process
 * leaves it; the next file_create removes it. After a write that fails, later writes do nothing,
 * and file_commit reports the failure. */
typedef struct File File;

/* Starts writing. A symbolic link is followed and kept. NULL with STATUS_CANNOT_CREATE, also if the
 * target is no regular file or is write-protected, or if another process is writing it. */
File *file_create(const char *path, Error *e);

/* Appends bytes. file_commit reports failures. */
void file_write(File *f, const void *data, size_t size);

/* The path given to file_create. */
const char *file_path(const File *f);

/* False if the path now leads to another directory than the one in which the file is written. */
bool file_keeps_folder(const File *f);

/* Reserves disk space for `size` bytes, so that a full disk shows before the work. STATUS_IO; no
 * error if the file system cannot reserve. */
bool file_reserve(File *f, size_t size, Error *e);

/* Syncs what is written so far to disk. STATUS_IO. */
bool file_sync(File *f, Error *e);

/* Syncs the file to disk, renames it to the target, and frees f. STATUS_IO. */
bool file_commit(File *f, Error *e);

/* Removes the temporary file and frees f. f may be NULL. */
void file_abandon(File *f);

/* Writes what print(out, content) prints, as a whole. STATUS_NO_MEMORY, and the errors of
 * file_create and file_commit. */
bool file_print(const char *path, void (*print)(FILE *out, const void *content),
                const void *content, Error *e);
