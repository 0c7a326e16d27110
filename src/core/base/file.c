/* Reads whole files, and writes files atomically. */
#include "base/file.h"
#include "base/system.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- Reading ---- */

/* The kind of a file that is not regular, for messages. */
static const char *kind_of_file(mode_t mode) {
    if (S_ISDIR(mode)) return "a directory";
    if (S_ISLNK(mode)) return "a link to nothing";
    if (S_ISFIFO(mode)) return "a FIFO";
    return S_ISSOCK(mode) ? "a socket" : "a device";
}

static bool is_regular(const struct stat *st, const char *path, Status status, Error *e) {
    return S_ISREG(st->st_mode) || error_set(e, status, "%s: found %s, need a regular file", path,
                                             kind_of_file(st->st_mode));
}

/* Reads to the end, or up to `capacity` bytes. -1 with errno. */
static ssize_t read_up_to(int fd, char *buffer, size_t capacity) {
    size_t got = 0;
    while (got < capacity) {
        ssize_t n = read(fd, buffer + got, capacity - got);
        if (n == 0) break;
        if (n > 0)
            got += (size_t)n;
        else if (errno != EINTR)
            return -1;
    }
    return (ssize_t)got;
}

/* open, whatever signals arrive. A FIFO must not block. */
static int open_at(int folder, const char *path, int flags) {
    int fd;
    do fd = openat(folder, path, flags | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0666);
    while (fd < 0 && errno == EINTR);
    return fd;
}

int file_open(const char *path, uintmax_t *bytes, Error *e) {
    struct stat st;
    int fd = open_at(AT_FDCWD, path, O_RDONLY);
    if (fd < 0) {
        error_set(e, STATUS_NO_INPUT, "%s: %s", path, strerror(errno));
        return -1;
    }
    bool ok = fstat(fd, &st) == 0 || error_set(e, STATUS_IO, "%s: %s", path, strerror(errno));
    if (ok && is_regular(&st, path, STATUS_NO_INPUT, e)) {
        *bytes = (uintmax_t)st.st_size;
        return fd;
    }
    close(fd);
    return -1;
}

static bool read_open_file(int fd, const char *path, uintmax_t bytes, size_t limit, char **data,
                           size_t *size, Error *e) {
    if (limit && bytes > limit)
        return error_set(e, STATUS_BAD_DATA, "%s: found %ju bytes, need at most %zu", path, bytes,
                         limit);

    char *buffer = bytes < SSIZE_MAX ? malloc((size_t)bytes + 1) : NULL;
    if (!buffer)
        return error_set(e, STATUS_NO_MEMORY, "%s: no memory for its %ju bytes", path, bytes);
    /* One byte more, to notice a file that grows. */
    ssize_t got = read_up_to(fd, buffer, (size_t)bytes + 1);
    if (got < 0)
        error_set(e, STATUS_IO, "%s: %s", path, strerror(errno));
    else if ((uintmax_t)got != bytes)
        error_set(e, STATUS_IO, "%s: its size changed while it was read", path);
    else {
        buffer[bytes] = 0;
        *data = buffer;
        *size = (size_t)bytes;
        return true;
    }
    free(buffer);
    return false;
}

bool file_read(const char *path, size_t limit, char **data, size_t *size, Error *e) {
    uintmax_t bytes;
    int fd = file_open(path, &bytes, e);
    if (fd < 0) return false;
    bool ok = read_open_file(fd, path, bytes, limit, data, size, e);
    close(fd);
    return ok;
}

/* Copies stdin to a temporary file without a name, which stays open. -1: STATUS_IO. */
static int open_stdin(uintmax_t *bytes, Error *e) {
    static FILE *copy;
    static uintmax_t size;
    char block[1 << 16];
    size_t n;
    if (!copy) {
        copy = tmpfile();
        do {
            n = copy ? fread(block, 1, sizeof block, stdin) : 0;
            size += n ? fwrite(block, 1, n, copy) : 0;
        } while (n > 0);
    }
    *bytes = size;
    if (copy && fflush(copy) == 0 && !ferror(copy) && !ferror(stdin)) return dup(fileno(copy));
    error_set(e, STATUS_IO, "stdin: %s", strerror(errno));
    return -1;
}

bool file_map(const char *path, FileMap *m, Error *e) {
    uintmax_t bytes;
    void *data = MAP_FAILED;
    *m = (FileMap){0};
    int fd = strcmp(path, "-") == 0 ? open_stdin(&bytes, e) : file_open(path, &bytes, e);
    if (fd < 0) return false;
    if (bytes && bytes <= SIZE_MAX)
        data = mmap(NULL, (size_t)bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
    close(fd);
    if (data != MAP_FAILED) *m = (FileMap){data, (size_t)bytes};
    return m->data || !bytes ||
           error_set(e, STATUS_NO_MEMORY, "%s: no memory for its %ju bytes", path, bytes);
}

void file_unmap(FileMap *m) {
    if (m->data) munmap(m->data, m->size);
    *m = (FileMap){0};
}

uint64_t file_identity(const char *path) {
    struct stat st;
    if (stat(path, &st) != 0) return 0;
    /* With time and size, because inode numbers are reused. */
    const uint64_t parts[] = {(uint64_t)st.st_dev, (uint64_t)st.st_ino, (uint64_t)st.st_size,
                              (uint64_t)st.st_mtime};
    uint64_t identity = 1;
    for (int i = 0; i < 4; i++) identity = (identity ^ parts[i]) * 0x9E3779B97F4A7C15u;
    return identity | 1;
}

/* ---- Writing ---- */

bool file_may_be_written(const char *path, Error *e) {
    struct stat st;
    return stat(path, &st) != 0 || is_regular(&st, path, STATUS_CANNOT_CREATE, e);
}

struct File {
    char *path;   /* the caller's path, for messages */
    char *target; /* path after symbolic links, cut at its last slash into directory and name */
    const char *directory, *name;
    char *temporary; /* in the same directory */
    int folder, fd;
    pid_t owner; /* its forked children do not remove the file */
    File *next;  /* in the list of files being written */
    Error error;
    off_t written;
};

static bool cannot_create(const char *path, Error *e) {
    return error_set(e, errno == ENOMEM ? STATUS_NO_MEMORY : STATUS_CANNOT_CREATE, "%s: %s", path,
                     strerror(errno));
}

static bool same_file(const struct stat *a, const struct stat *b) {
    return a->st_ino == b->st_ino && a->st_dev == b->st_dev;
}

/* True if `name` in the directory is still the open file. */
static bool still_named(int folder, const char *name, int fd) {
    struct stat by_name, by_fd;
    return fstatat(folder, name, &by_name, AT_SYMLINK_NOFOLLOW) == 0 && fstat(fd, &by_fd) == 0 &&
           same_file(&by_name, &by_fd);
}

/* Opens the temporary file and locks it. The writer of a temporary file holds its lock, and alone
 * may rename or remove it. One without a lock was left by a killed process: it is written anew, and
 * file_commit cuts what is longer. */
static bool create_temporary(File *f, Error *e) {
    for (int attempt = 0; attempt < 100; attempt++) {
        f->fd = open_at(f->folder, f->temporary, O_WRONLY | O_CREAT | O_NOFOLLOW);
        if (f->fd < 0) return cannot_create(f->path, e);
        /* A file system without locks counts as locked. */
        if (!system_lock(f->fd) && errno == EWOULDBLOCK) break;
        /* Before it was locked, another process may have renamed or removed it. */
        if (still_named(f->folder, f->temporary, f->fd)) return true;
        close(f->fd);
        f->fd = -1;
    }
    return error_set(e, STATUS_CANNOT_CREATE, "%s: another process is writing it", f->path);
}

static bool open_folder(File *f, Error *e) {
    static const char pattern[] = ".%s.tapeformer-tmp";
    char *slash = strrchr(f->target, '/');
    f->name = slash ? slash + 1 : f->target;
    f->directory = slash == f->target ? "/" : f->target;
    if (!slash) f->directory = ".";
    if (slash) *slash = 0;
    f->temporary = malloc(strlen(f->name) + sizeof pattern);
    if (!f->temporary) return cannot_create(f->path, e);
    sprintf(f->temporary, pattern, f->name);
    f->folder = open_at(AT_FDCWD, f->directory, O_RDONLY | O_DIRECTORY);
    return f->folder >= 0 || cannot_create(f->path, e);
}

static bool start(File *f, Error *e) {
    struct stat st;
    f->target = realpath(f->path, NULL);
    if (!f->target && errno == ENOENT) f->target = strdup(f->path);
    if (!f->target) return cannot_create(f->path, e);
    if (!open_folder(f, e)) return false;
    bool there = fstatat(f->folder, *f->name ? f->name : ".", &st, AT_SYMLINK_NOFOLLOW) == 0;
    if (there && !is_regular(&st, f->path, STATUS_CANNOT_CREATE, e)) return false;
    /* rename would replace it without a question. */
    if (there && faccessat(f->folder, f->name, W_OK, AT_EACCESS) != 0)
        return cannot_create(f->path, e);
    if (!create_temporary(f, e)) return false;
    /* This fails only on file systems without modes. */
    if (there) (void)!fchmod(f->fd, st.st_mode & 0777);
    return true;
}

/* The files being written. If the program exits in between, their temporary files are removed. */
static File *unfinished;

static void remove_temporaries(void) {
    for (const File *f = unfinished; f; f = f->next)
        if (f->owner == getpid()) unlinkat(f->folder, f->temporary, 0);
}

/* Frees f; its temporary file no longer exists. */
static void release(File *f) {
    File **at = &unfinished;
    while (*at && *at != f) at = &(*at)->next;
    if (*at) *at = f->next;
    if (f->fd >= 0) close(f->fd);
    if (f->folder >= 0) close(f->folder);
    free(f->temporary);
    free(f->target);
    free(f->path);
    free(f);
}

File *file_create(const char *path, Error *e) {
    File *f = calloc(1, sizeof *f);
    if (f) {
        f->folder = f->fd = -1;
        f->path = strdup(path);
    }
    if (!f || !f->path || !start(f, e)) {
        error_set(e, STATUS_NO_MEMORY, "%s: no memory", path); /* if start named no other cause */
        if (f) release(f);
        return NULL;
    }
    static bool registered;
    if (!registered) registered = atexit(remove_temporaries) == 0;
    f->owner = getpid();
    f->next = unfinished;
    unfinished = f;
    return f;
}

bool file_keeps_folder(const File *f) {
    struct stat by_name, by_fd;
    return stat(f->directory, &by_name) != 0 || fstat(f->folder, &by_fd) != 0 ||
           same_file(&by_name, &by_fd);
}

static bool io_failed(File *f) {
    return error_set(&f->error, STATUS_IO, "%s: %s", f->path, strerror(errno));
}

void file_write(File *f, const void *data, size_t size) {
    const char *bytes = data;
    while (size && f->error.status == STATUS_DONE) {
        ssize_t n = write(f->fd, bytes, size);
        if (n > 0) {
            bytes += n;
            size -= (size_t)n;
            f->written += n;
        } else if (n == 0 || errno != EINTR) {
            if (n == 0) errno = EIO;
            io_failed(f);
        }
    }
}

const char *file_path(const File *f) {
    return f->path;
}

bool file_reserve(File *f, size_t size, Error *e) {
    int cause;
    do cause = system_reserve(f->fd, (off_t)size);
    while (cause == EINTR);
    return (cause != ENOSPC && cause != EFBIG && cause != EDQUOT) ||
           error_set(e, STATUS_IO, "%s: %s", f->path, strerror(cause));
}

static bool sync_to_disk(int fd) {
    int failed;
    do failed = fsync(fd);
    while (failed && errno == EINTR);
    return !failed;
}

bool file_sync(File *f, Error *e) {
    if (f->error.status == STATUS_DONE && !sync_to_disk(f->fd)) io_failed(f);
    return f->error.status == STATUS_DONE || error_set(e, f->error.status, "%s", f->error.text);
}

/* Renames the temporary file to the target. */
static bool put_in_place(File *f) {
    if (f->error.status != STATUS_DONE) return false;
    if (ftruncate(f->fd, f->written) != 0) return io_failed(f); /* cuts reserved space */
    if (!sync_to_disk(f->fd)) return io_failed(f);

    /* close may report a failed write, so it comes before rename; the duplicate keeps the lock. */
    int copy = fcntl(f->fd, F_DUPFD_CLOEXEC, 0), failed = close(f->fd);
    f->fd = copy;
    if (copy < 0 || (failed != 0 && errno != EINTR)) return io_failed(f);
    return renameat(f->folder, f->temporary, f->folder, f->name) == 0 || io_failed(f);
}

bool file_commit(File *f, Error *e) {
    bool placed = put_in_place(f);
    if (!placed) unlinkat(f->folder, f->temporary, 0);
    /* Syncs the new name too. Some file systems cannot sync a directory and return EINVAL. */
    else if (!sync_to_disk(f->folder) && errno != EINVAL)
        io_failed(f);
    bool ok = f->error.status == STATUS_DONE || error_set(e, f->error.status, "%s", f->error.text);
    release(f);
    return ok;
}

void file_abandon(File *f) {
    if (!f) return;
    unlinkat(f->folder, f->temporary, 0);
    release(f);
}

bool file_print(const char *path, void (*print)(FILE *out, const void *content),
                const void *content, Error *e) {
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (out) print(out, content);
    bool printed = out && !ferror(out);
    if (out && fclose(out) != 0) printed = false;
    if (!printed || !text) { /* fclose may run out of memory without an error */
        free(text);
        return error_set(e, STATUS_NO_MEMORY, "%s: no memory for the file", path);
    }
    File *f = file_create(path, e);
    if (f) file_write(f, text, size);
    free(text);
    return f && file_commit(f, e);
}
