#include "base/directory.h"
#include "base/utf8.h"
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool directory_make(const char *path, Error *e) {
    char prefix[PATH_ROOM];
    size_t length = strlen(path);
    if (length == 0 || length >= sizeof prefix)
        return error_set(e, STATUS_CANNOT_CREATE, "directory: found a path of %zu bytes, need 1 to %zu",
                         length, sizeof prefix - 1);
    for (size_t i = 1; i <= length; i++) {
        if (path[i] != '/' && path[i] != '\0') continue;
        memcpy(prefix, path, i);
        prefix[i] = '\0';
        if (mkdir(prefix, 0777) == 0) continue;
        int cause = errno; /* stat has another, where nothing is there */
        struct stat found;
        if (stat(prefix, &found) == 0 && S_ISDIR(found.st_mode)) continue;
        return error_set(e, STATUS_CANNOT_CREATE, "%s: cannot be made a directory: %s", ESCAPED(prefix),
                         cause == EEXIST ? "a file of that name is there" : strerror(cause));
    }
    return true;
}

bool directory_temporary(char path[TEMPORARY_PATH], Error *e) {
    const char *where = getenv("TMPDIR");
    if (!where || !*where || strlen(where) > TEMPORARY_PATH - 24) where = "/tmp";
    snprintf(path, TEMPORARY_PATH, "%s/tapeformer-XXXXXX", where);
    return mkdtemp(path) || error_set(e, STATUS_CANNOT_CREATE, "%s: found no room for a folder", where);
}

void directory_remove(const char *path) {
    DIR *d = opendir(path);
    for (const struct dirent *entry; d && (entry = readdir(d));) unlinkat(dirfd(d), entry->d_name, 0);
    if (d) closedir(d);
    rmdir(path);
}

bool directory_empty(const char *path) {
    DIR *d = opendir(path);
    bool any = false;
    for (const struct dirent *entry; d && !any && (entry = readdir(d));)
        any = strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
    if (d) closedir(d);
    return !any;
}

bool directory_file(char out[PATH_ROOM], const char *directory, const char *name, Status status, Error *e) {
    int length = snprintf(out, PATH_ROOM, "%s/%s", directory, name);
    return length < PATH_ROOM || error_set(e, status, "%s/%s: %s", directory, name, strerror(ENAMETOOLONG));
}
