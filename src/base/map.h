/* Files of any size as memory, read from the disk where they are looked at. */
#ifndef BASE_MAP_H
#define BASE_MAP_H

#include "base/error.h"
#include <stddef.h>

/* Bytes that the caller may change; the file stays as it is. A file that another process shortens meanwhile ends this
 * process by SIGBUS. */
typedef struct FileMap {
    char *data;
    size_t size;
} FileMap;

/* Maps a regular file, for file_unmap. STATUS_NO_INPUT if it cannot be opened or is none, STATUS_NO_MEMORY. */
bool file_map(const char *path, FileMap *m, Error *e);

/* Forgets it; an empty map is no mistake. */
void file_unmap(FileMap *m);

#endif
