#include "check/directories.h"
#include "base/arena.h"
#include "base/directory.h"
#include "base/utf8.h"
#include "check/sandbox.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

/* ---- Temporary directories ---- */

static char temporary[TEMPORARY_PATH]; /* the last one of this process */
static pid_t temporary_owner;

static void remove_temporary(void) {
    if (getpid() == temporary_owner) directory_remove(temporary);
}

/* Makes a directory below one of these, if code may be run from there. */
static bool make_below(const char *where, bool runs_code) {
    snprintf(temporary, TEMPORARY_PATH, "%s/tapeformer-XXXXXX", where);
    if (runs_code && !system_runs_code(where)) return false;
    return mkdtemp(temporary) && chmod(temporary, 0711) == 0;
}

bool directory_temporary(char path[TEMPORARY_PATH], Error *e) {
    const char *where = getenv("TMPDIR");
    if (!where || !*where || strlen(where) > TEMPORARY_PATH - 24) where = "/tmp";
    bool made =
        make_below(where, true) ||
        (!system_runs_code(where) &&
         (make_below("/var/tmp", true) || make_below("/dev/shm", true) || make_below(".", true))) ||
        make_below(where, false);
    if (!made) return error_set(e, STATUS_CANNOT_CREATE, "%s: found no room for a folder", where);
    if (!temporary_owner) atexit(remove_temporary);
    temporary_owner = getpid();
    strcpy(path, temporary);
    return true;
}

enum { MAX_DEPTH = 64 };

/* Calls each(folder, name) for each entry of an open directory, which is closed. */
static void for_entries(int folder, void (*each)(int folder, const char *name, int depth, void *to),
                        int depth, void *to) {
    DIR *d = fdopendir(folder);
    if (!d) return;
    for (const struct dirent *entry = readdir(d); entry; entry = readdir(d))
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            each(dirfd(d), entry->d_name, depth, to);
    closedir(d);
}

static int open_below(int folder, const char *name) {
    return openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

static void remove_entry(int folder, const char *name, int depth, void *to) {
    if (unlinkat(folder, name, 0) == 0 || depth > MAX_DEPTH) return;
    fchmodat(folder, name, 0700, 0);
    int below = open_below(folder, name);
    if (below >= 0) for_entries(below, remove_entry, depth + 1, to);
    unlinkat(folder, name, AT_REMOVEDIR);
}

void directory_remove(const char *path) {
    remove_entry(AT_FDCWD, path, 0, NULL);
}

static void add_bytes(int folder, const char *name, int depth, void *to) {
    enum { BLOCK = 4096 };
    struct stat found;
    size_t *sum = to;
    if (fstatat(folder, name, &found, AT_SYMLINK_NOFOLLOW) != 0) return;
    *sum += S_ISREG(found.st_mode) && found.st_size > BLOCK ? (size_t)found.st_size : BLOCK;
    if (!S_ISDIR(found.st_mode)) return;
    int below = depth < MAX_DEPTH ? open_below(folder, name) : -1;
    if (below >= 0)
        for_entries(below, add_bytes, depth + 1, sum);
    else if (depth >= MAX_DEPTH)
        *sum = SIZE_MAX / 2;
}

size_t directory_bytes(const char *path) {
    size_t sum = 0;
    add_bytes(AT_FDCWD, path, 0, &sum);
    return sum;
}

size_t directory_free_bytes(const char *path) {
    struct statvfs found;
    return statvfs(path, &found) == 0 ? (size_t)found.f_bavail * found.f_frsize : SIZE_MAX;
}

/* ---- Files ---- */

const char *file_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* Copies an open file. */
static bool copy_bytes(int in, const char *folder, const char *name, Error *e) {
    char path[PATH_CAPACITY], block[1 << 14];
    if (!directory_file(path, folder, name, STATUS_CANNOT_CREATE, e)) return false;
    int out = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    ssize_t n = 1, written = 1;
    while (out >= 0 && n > 0 && written == n) {
        n = written = read(in, block, sizeof block);
        if (n > 0) written = write(out, block, (size_t)n);
    }
    int error = written >= 0 && written < n ? ENOSPC : errno;
    if (out >= 0 && close(out) == 0 && n == 0) return true;
    return error_set(e, STATUS_CANNOT_CREATE, "%s: cannot be written: %s", path, strerror(error));
}

bool file_copy(const char *from, const char *shown, const char *folder, const char *name,
               Error *e) {
    struct stat found;
    int links = shown ? O_NOFOLLOW : 0;
    int in = open(from, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | links), error = errno;
    if (in < 0 && error == ENOENT && shown)
        return error_set(e, STATUS_NO_INPUT,
                         "%s: is missing: nothing was handed in under this name", ESCAPED(shown));
    if (!shown) shown = from;
    if (in < 0 && error == ELOOP)
        return error_set(e, STATUS_NO_INPUT, "%s: found a link, need a regular file",
                         ESCAPED(shown));
    if (in < 0)
        return error_set(e, STATUS_NO_INPUT, "%s: cannot be read: %s", ESCAPED(shown),
                         strerror(error));
    bool ok = fstat(in, &found) == 0 && S_ISREG(found.st_mode);
    if (ok)
        ok = copy_bytes(in, folder, name, e);
    else
        error_set(e, STATUS_NO_INPUT, "%s: found %s, need a regular file", ESCAPED(shown),
                  S_ISDIR(found.st_mode) ? "a folder" : "something else");
    close(in);
    return ok;
}

/* ---- Lists of files ---- */

static void keep_name(FileNames *f, const char *name) {
    if (!f) return;
    f->name = array_grown(f->name, f->count, &f->capacity, sizeof *f->name);
    f->name[f->count] = strdup(name);
    if (!f->name[f->count++]) error_no_memory("the name of a file");
}

static bool has_ending(const char *name, const char *const *endings) {
    while (*endings && !directory_ends_in(name, *endings)) endings++;
    return *endings != NULL;
}

typedef struct Listing {
    const char *const *endings;
    FileNames *found, *left;
    char way[PATH_CAPACITY]; /* of the directory at hand, from the first: empty, or with a slash at
                                its end */
} Listing;

/* Lists an entry of the directory at hand, or what is below it. */
static void list_entry(int folder, const char *name, int depth, void *to) {
    Listing *l = to;
    struct stat found;
    size_t length = strlen(l->way);
    if (name[0] == '.' || fstatat(folder, name, &found, AT_SYMLINK_NOFOLLOW) != 0) return;
    int added = snprintf(l->way + length, sizeof l->way - length, "%s", name);
    bool fits = length + (size_t)added + 2 < sizeof l->way;
    if (!S_ISDIR(found.st_mode)) {
        keep_name(fits && has_ending(name, l->endings) ? l->found : l->left, l->way);
    } else {
        int below = fits && depth < MAX_DEPTH ? open_below(folder, name) : -1;
        if (below < 0) keep_name(l->left, l->way);
        if (below >= 0) {
            strcat(l->way, "/");
            for_entries(below, list_entry, depth + 1, l);
        }
    }
    l->way[length] = 0;
}

static int by_name(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void sort(FileNames *f) {
    if (f && f->count) qsort(f->name, (size_t)f->count, sizeof *f->name, by_name);
}

bool directory_files(const char *path, const char *const *endings, FileNames *out, FileNames *left,
                     Error *e) {
    Listing l = {endings, out, left, ""};
    *out = (FileNames){0};
    if (left) *left = (FileNames){0};
    int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0) return error_set(e, STATUS_NO_INPUT, "%s: %s", ESCAPED(path), strerror(errno));
    for_entries(folder, list_entry, 0, &l);
    sort(out);
    sort(left);
    return true;
}

void directory_files_free(FileNames *f) {
    for (long i = 0; i < f->count; i++) free(f->name[i]);
    free(f->name);
    *f = (FileNames){0};
}

bool directory_copy(const char *from, const char *const *endings, const char *to, Error *e) {
    FileNames files;
    char source[PATH_CAPACITY], target[PATH_CAPACITY];
    bool ok = directory_files(from, endings, &files, NULL, e) && directory_make(to, e);
    for (long i = 0; i < files.count; i++) {
        const char *name = files.name[i];
        ok = ok && directory_file(source, from, name, STATUS_NO_INPUT, e) &&
             directory_file(target, to, name, STATUS_CANNOT_CREATE, e);
        if (!ok) break;
        target[strlen(target) - strlen(file_name(target)) - 1] = 0;
        ok = directory_make(target, e) && file_copy(source, NULL, target, file_name(name), e);
    }
    directory_files_free(&files);
    return ok;
}
