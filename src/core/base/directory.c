#include "base/directory.h"
#include "base/utf8.h"
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static bool wrong_length(const char *path, Status status, Error *e) {
    return error_set(e, status, "directory: found a path of %zu bytes, need 1 to %d", strlen(path),
                     PATH_CAPACITY - 1);
}

bool directory_make(const char *path, Error *e) {
    char prefix[PATH_CAPACITY];
    size_t length = strlen(path);
    if (length == 0 || length >= sizeof prefix) return wrong_length(path, STATUS_CANNOT_CREATE, e);
    for (size_t i = 1; i <= length; i++) {
        if (path[i] != '/' && path[i] != '\0') continue;
        memcpy(prefix, path, i);
        prefix[i] = '\0';
        if (mkdir(prefix, 0777) == 0) continue;
        int cause = errno; /* stat has another, where nothing is there */
        struct stat found;
        if (stat(prefix, &found) == 0 && S_ISDIR(found.st_mode)) continue;
        return error_set(e, STATUS_CANNOT_CREATE, "%s: cannot be made a directory: %s",
                         ESCAPED(prefix),
                         cause == EEXIST ? "a file of that name is there" : strerror(cause));
    }
    return true;
}

bool directory_file(char out[PATH_CAPACITY], const char *directory, const char *name, Status status,
                    Error *e) {
    if (!*directory) return wrong_length(directory, status, e);
    int length = snprintf(out, PATH_CAPACITY, "%s/%s", directory, name);
    return length < PATH_CAPACITY ||
           error_set(e, status, "%s/%s: %s", directory, name, strerror(ENAMETOOLONG));
}

bool directory_ends_in(const char *path, const char *ending) {
    size_t n = strlen(path), length = strlen(ending);
    return n > length && strcmp(path + n - length, ending) == 0;
}
