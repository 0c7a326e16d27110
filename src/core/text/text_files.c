/* The files of a list of paths: a directory stands for all files below it. */
#include "base/directory.h"
#include "text/lines.h"
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { MAX_DEPTH = 32 }; /* of directories; links may go in circles */

static bool is_of_kind(const char *path, mode_t kind) {
    struct stat st;
    return stat(path, &st) == 0 && (st.st_mode & S_IFMT) == kind;
}

static int is_visible(const struct dirent *entry) {
    return entry->d_name[0] != '.';
}

static bool add_path(FILE *out, const char *path, int depth, Error *e);

/* Adds the files of a directory, in the order of their names. */
static bool add_directory(FILE *out, const char *path, int depth, Error *e) {
    struct dirent **entry;
    int count = depth < MAX_DEPTH ? scandir(path, &entry, is_visible, alphasort) : -1;
    if (count < 0)
        return error_set(e, STATUS_NO_INPUT, "%s: %s", path,
                         depth < MAX_DEPTH ? strerror(errno) : "found directories 32 deep");
    bool ok = true;
    for (int i = 0; i < count; i++) {
        char inside[PATH_CAPACITY];
        ok = ok && directory_file(inside, path, entry[i]->d_name, STATUS_NO_INPUT, e) &&
             add_path(out, inside, depth + 1, e);
        free(entry[i]);
    }
    free(entry);
    return ok;
}

static bool add_path(FILE *out, const char *path, int depth, Error *e) {
    if (strchr(path, '\n'))
        return error_set(e, STATUS_NO_INPUT, "\"%s\": found a line break, need a name without one",
                         ESCAPED(path));
    if (is_of_kind(path, S_IFDIR)) return add_directory(out, path, depth, e);
    if (depth == 0 || is_of_kind(path, S_IFREG)) fprintf(out, "%s\n", path);
    return true;
}

char *texts_files(const char *paths, Error *e) {
    char *files = NULL, path[PATH_CAPACITY];
    size_t size = 0;
    FILE *out = open_memstream(&files, &size);
    bool ok;
    do {
        size_t length = strcspn(paths, "\n");
        snprintf(path, sizeof path, "%.*s", (int)length, paths);
        ok = out && add_path(out, path, 0, e);
        paths += length + (paths[length] == '\n');
    } while (ok && *paths);
    bool closed = out && fclose(out) == 0 && files;
    if (ok && closed && size > 0) {
        files[size - 1] = 0; /* the last line end */
        return files;
    }
    if (ok && closed) error_set(e, STATUS_NO_INPUT, "%s: found no file, need texts", path);
    if (!closed) error_set(e, STATUS_NO_MEMORY, "memory: the list of texts");
    free(files);
    return NULL;
}
