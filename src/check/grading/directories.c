#include "check/grading/directories.h"
#include "base/arena.h"
#include "base/directory.h"
#include "base/file.h"
#include "base/utf8.h"
#include "check/sandbox.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool directory_temporary(char path[TEMPORARY_PATH], Error *e) {
    const char *where = getenv("TMPDIR"), *const others[] = {"/var/tmp", "/dev/shm", "."};
    if (!where || !*where || strlen(where) > TEMPORARY_PATH - 24) where = "/tmp";
    bool barred = !system_runs_code(where);
    for (size_t i = 0; barred && i < sizeof others / sizeof *others; i++) {
        snprintf(path, TEMPORARY_PATH, "%s/tapeformer-XXXXXX", others[i]);
        if (system_runs_code(others[i]) && mkdtemp(path)) return true;
    }
    snprintf(path, TEMPORARY_PATH, "%s/tapeformer-XXXXXX", where);
    return (mkdtemp(path) && chmod(path, 0711) == 0) ||
           error_set(e, STATUS_CANNOT_CREATE, "%s: found no room for a folder", where);
}

void directory_remove(const char *path) {
    DIR *d = opendir(path);
    for (const struct dirent *entry; d && (entry = readdir(d));) unlinkat(dirfd(d), entry->d_name, 0);
    if (d) closedir(d);
    rmdir(path);
}

const char *file_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

bool file_copy(const char *from, const char *folder, const char *name, Error *e) {
    char path[PATH_ROOM], block[1 << 14];
    ssize_t n = 0;
    struct stat found;
    if (!directory_file(path, folder, name, STATUS_CANNOT_CREATE, e)) return false;
    int in = open(from, O_RDONLY | O_CLOEXEC | O_NONBLOCK), out = -1;
    bool regular = in >= 0 && fstat(in, &found) == 0 && S_ISREG(found.st_mode);
    if (regular) out = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    while (out >= 0 && (n = read(in, block, sizeof block)) > 0 && write(out, block, (size_t)n) == n) continue;
    if (in >= 0) close(in);
    if (out >= 0 && close(out) == 0 && n == 0) return true;
    return error_set(e, regular ? STATUS_CANNOT_CREATE : STATUS_NO_INPUT, "%s: cannot be copied to %s",
                     ESCAPED(from), folder);
}

static void keep_name(FileNames *f, const char *name) {
    f->name = array_grown(f->name, f->count, &f->capacity, sizeof *f->name);
    f->name[f->count] = strdup(name);
    if (!f->name[f->count++]) error_no_memory("the name of a file");
}

/* Lists PATH/WAY and below; `way` is empty or ends with a slash. */
static bool find_files(const char *path, const char *way, const char *const *endings, FileNames *f,
                       FileNames *left, Error *e) {
    char here[PATH_ROOM], name[PATH_ROOM];
    if (!directory_file(here, path, way, STATUS_NO_INPUT, e)) return false;
    DIR *d = opendir(here);
    if (!d) return error_set(e, STATUS_NO_INPUT, "%s: %s", ESCAPED(here), strerror(errno));
    bool ok = true;
    for (const struct dirent *entry; ok && (entry = readdir(d));) {
        struct stat found, link;
        if (entry->d_name[0] == '.' || fstatat(dirfd(d), entry->d_name, &found, 0) != 0) continue;
        bool linked =
            fstatat(dirfd(d), entry->d_name, &link, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(link.st_mode);
        int length = snprintf(name, sizeof name, "%s%s", way, entry->d_name);
        if (length >= PATH_ROOM - 1) {
            ok = error_set(e, STATUS_NO_INPUT, "%s: %s", ESCAPED(here), strerror(ENAMETOOLONG));
        } else if (!S_ISDIR(found.st_mode)) {
            const char *const *ending = endings;
            while (*ending && !directory_ends_in(name, *ending)) ending++;
            keep_name(*ending ? f : left, name);
        } else if (!linked) {
            memcpy(name + length, "/", 2);
            ok = find_files(path, name, endings, f, left, e);
        }
    }
    closedir(d);
    return ok;
}

static int by_name(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

bool directory_files(const char *path, const char *const *endings, FileNames *out, FileNames *left,
                     Error *e) {
    *out = *left = (FileNames){0};
    if (!find_files(path, "", endings, out, left, e)) return false;
    if (out->count) qsort(out->name, (size_t)out->count, sizeof *out->name, by_name);
    if (left->count) qsort(left->name, (size_t)left->count, sizeof *left->name, by_name);
    return true;
}

void directory_files_free(FileNames *f) {
    for (long i = 0; i < f->count; i++) free(f->name[i]);
    free(f->name);
    *f = (FileNames){0};
}
