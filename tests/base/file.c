/* Files: what is read is what was written, and a write that fails or is killed anywhere leaves the
 * old file or the new one, whole. The system calls that base/file.c makes are replaced here by ones
 * that fail, stop half-way or kill the process at any chosen call. */
#include "base/file.h"
#include "folder.h"
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>

/* ---- System calls that misbehave ---- */

enum { KILL_BEFORE = -1, KILL_AFTER = -2, SHORT = -3 };

static struct {
    int at;        /* the call that misbehaves, counted from 1; 0: none */
    int how;       /* an errno, or one of the above */
    bool sticky;   /* all later calls fail, too */
    int calls;     /* made so far */
    char name[64]; /* of the call that misbehaved */
} fault;

/* The fault of this call; 0: none. */
static int misbehave(const char *name) {
    fault.calls++;
    if (!fault.at || fault.calls < fault.at || (fault.calls > fault.at && !fault.sticky)) return 0;
    if (fault.calls == fault.at) snprintf(fault.name, sizeof fault.name, "%s", name);
    if (fault.how == KILL_BEFORE) raise(SIGKILL);
    return fault.how;
}

static long finish(int how, long result) {
    if (how == KILL_AFTER) raise(SIGKILL);
    return result;
}

#define FAULTY(name, ...)                                                                          \
    int how = misbehave(#name);                                                                    \
    if (how > 0) {                                                                                 \
        errno = how;                                                                               \
        return -1;                                                                                 \
    }                                                                                              \
    return (int)finish(how, syscall(__VA_ARGS__))

int openat(int at, const char *path, int flags, ...) {
    va_list rest;
    va_start(rest, flags);
    mode_t mode = flags & O_CREAT ? va_arg(rest, mode_t) : 0;
    va_end(rest);
    FAULTY(openat, SYS_openat, at, path, flags, mode);
}
int fcntl(int fd, int command, ...) {
    va_list rest;
    va_start(rest, command);
    int argument = va_arg(rest, int);
    va_end(rest);
    FAULTY(fcntl, SYS_fcntl, fd, command, argument);
}
int fsync(int fd) {
    FAULTY(fsync, SYS_fsync, fd);
}
int flock(int fd, int operation) {
    FAULTY(flock, SYS_flock, fd, operation);
}
int renameat(int from, const char *a, int to, const char *b) {
    FAULTY(renameat, SYS_renameat2, from, a, to, b, 0);
}
/* A close that fails has closed the file all the same. */
int close(int fd) {
    int how = misbehave("close");
    long result = finish(how, syscall(SYS_close, fd));
    if (how <= 0) return (int)result;
    errno = how;
    return -1;
}
#define FAULTY_TRANSFER(name, Bytes)                                                               \
    ssize_t name(int fd, Bytes buffer, size_t n) {                                                 \
        int how = misbehave(#name);                                                                \
        if (how > 0) {                                                                             \
            errno = how;                                                                           \
            return -1;                                                                             \
        }                                                                                          \
        return finish(how, syscall(SYS_##name, fd, buffer, how == SHORT && n > 1 ? n / 2 : n));    \
    }
FAULTY_TRANSFER(read, void *)
FAULTY_TRANSFER(write, const void *)

/* ---- Contents of the folder ---- */

/* Entries of the folder, without . and .. */
static int entries(void) {
    char command[sizeof folder + 16];
    int n = -1;
    snprintf(command, sizeof command, "ls -A %s | wc -l", folder);
    FILE *f = popen(command, "r");
    if (f) {
        if (fscanf(f, "%d", &n) != 1) n = -1;
        pclose(f);
    }
    return n;
}

static bool holds(const char *path, const char *text, size_t length) {
    Error e = {0};
    char *data;
    size_t size;
    if (!file_read(path, 0, &data, &size, &e)) return false;
    bool same = size == length && memcmp(data, text, length) == 0 && data[size] == 0;
    free(data);
    return same;
}

static bool save(const char *path, const char *text, size_t length, Error *e) {
    File *f = file_create(path, e);
    if (!f) return false;
    file_write(f, text, length);
    return file_commit(f, e);
}

#define CHECK_ERROR(e, want_status, want_text)                                                     \
    CHECK((e).status == (want_status) && strstr((e).text, want_text), "found %d \"%s\"",           \
          (e).status, (e).text)

/* A pattern of bytes without a period that a buffer's size could hide. */
static char *pattern(size_t n) {
    char *bytes = malloc(n + 1);
    for (size_t i = 0; i < n; i++) bytes[i] = (char)(i * i % 251 + i / 65536);
    return bytes;
}

/* ---- Tests ---- */

static void print_numbers(FILE *out, const void *content) {
    (void)content;
    fprintf(out, "%d,%s\n", 42, "x");
    for (int i = 0; i < 100; i++) fprintf(out, "%0*d", 1000, 7);
}

/* Pieces below, at and above the buffer's size arrive in order. */
TEST(written_bytes_are_read) {
    static const size_t total[] = {0, 1, 65535, 65536, 65537, 200000},
                        piece[] = {1, 7, 4096, 65535, 65536, 65537, 200000};
    const char *path = in_folder("a");
    for (size_t t = 0; t < sizeof total / sizeof *total; t++)
        for (size_t p = 0; p < sizeof piece / sizeof *piece; p++) {
            char *bytes = pattern(total[t]);
            Error e = {0};
            File *f = file_create(path, &e);
            if (!f) exit(1);
            for (size_t at = 0; at < total[t]; at += piece[p]) {
                size_t n = total[t] - at < piece[p] ? total[t] - at : piece[p];
                file_write(f, bytes + at, n);
            }
            CHECK(file_commit(f, &e), "%s", e.text);
            CHECK(holds(path, bytes, total[t]), "%zu bytes in pieces of %zu", total[t], piece[p]);
            CHECK(entries() == 1);
            free(bytes);
        }
    Error e = {0};
    char *want = malloc(100006);
    memcpy(want, "42,x\n", 5);
    for (int i = 0; i < 100; i++) sprintf(want + 5 + 1000 * i, "%0*d", 1000, 7);
    CHECK(file_print(path, print_numbers, NULL, &e) && holds(path, want, 100005), "%s", e.text);
    free(want);
}

/* Each refusal of a file that cannot be read. */
TEST(refuses_to_read) {
    char *data = NULL;
    size_t size = 0;
    mkfifo(in_folder("fifo"), 0600);
    write_text(in_folder("ten"), "0123456789");
    const struct {
        const char *path;
        Status status;
        const char *text;
    } cases[] = {
        {"/", STATUS_NO_INPUT, "/: found a directory, need a regular file"},
        {"/dev/zero", STATUS_NO_INPUT, "/dev/zero: found a device, need a regular file"},
        {"/nowhere/at/all", STATUS_NO_INPUT, "/nowhere/at/all: No such file or directory"},
        {"", STATUS_NO_INPUT, ": No such file or directory"},
        {"/proc/self/mem", STATUS_IO, strerror(EIO)}, /* page 0 cannot be read */
        {"/proc/self/status", STATUS_IO, "/proc/self/status: its size changed"},
        {in_folder("fifo"), STATUS_NO_INPUT, "found a FIFO, need a regular file"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Error e = {0};
        CHECK(!file_read(cases[i].path, 0, &data, &size, &e) && !data);
        CHECK_ERROR(e, cases[i].status, cases[i].text);
    }
    Error e = {0};
    CHECK(!file_read(in_folder("ten"), 9, &data, &size, &e));
    CHECK_ERROR(e, STATUS_BAD_DATA, "ten: found 10 bytes, need at most 9");
    e = (Error){0};
    CHECK(file_read(in_folder("ten"), 10, &data, &size, &e) && size == 10);
    free(data);
#ifndef SANITIZED
    /* A hole, of a true size that is more than any memory. */
    int fd = open(in_folder("ten"), O_WRONLY);
    for (int bits = 62; ftruncate(fd, (off_t)1 << bits) != 0 && bits > 42;) bits--;
    close(fd);
    struct rlimit memory = {(rlim_t)1 << 40, (rlim_t)1 << 40};
    CHECK(setrlimit(RLIMIT_AS, &memory) == 0);
    CHECK(!file_read(in_folder("ten"), 0, &data, &size, &e));
    CHECK_ERROR(e, STATUS_NO_MEMORY, "ten: no memory for its");
#endif
}

/* Reading survives interruptions and short reads at any call, and reports what does not pass. */
TEST(reads_through_faults) {
    const char *path = in_folder("a");
    char *bytes = pattern(100000), *data;
    Error e = {0};
    CHECK(save(path, bytes, 100000, &e));
    static const int how[] = {EINTR, SHORT, EIO};
    for (size_t h = 0; h < sizeof how / sizeof *how; h++)
        for (int at = 1;; at++) {
            size_t size;
            Error error = {0};
            fault.at = at;
            fault.how = how[h];
            fault.calls = 0;
            bool ok = file_read(path, 0, &data, &size, &error);
            fault.at = 0;
            if (fault.calls < at) {
                if (ok) free(data);
                break;
            }
            bool harmless = how[h] != EIO || strcmp(fault.name, "close") == 0;
            CHECK(ok == harmless, "%s %d: %s", fault.name, how[h], error.text);
            if (ok)
                CHECK(size == 100000 && memcmp(data, bytes, size) == 0, "%s %d", fault.name,
                      how[h]);
            else
                CHECK(error.status == (strcmp(fault.name, "openat") ? STATUS_IO : STATUS_NO_INPUT));
            if (ok) free(data);
        }
    free(bytes);
}

/* Every system call of a save fails, once or from there on: the save says so, and then the old file
 * is untouched; or it succeeds, and then the new one is there. Nothing else is left. */
TEST(faults_keep_the_old_file) {
    const char *path = in_folder("model");
    const size_t n = 150000;
    char *fresh = pattern(n);
    static const int how[] = {EIO, ENOSPC, EDQUOT, EROFS, EINTR, SHORT};
    int injected = 0;
    for (size_t h = 0; h < sizeof how / sizeof *how; h++)
        for (int sticky = 0; sticky < 2; sticky++)
            for (int at = 1;; at++) {
                if (how[h] == EINTR && sticky)
                    break; /* a call that is interrupted for ever is no fault to survive */
                write_text(path, "old");
                Error e = {0};
                fault.at = at;
                fault.how = how[h];
                fault.sticky = sticky;
                fault.calls = 0;
                bool ok = save(path, fresh, n, &e);
                fault.at = 0;
                if (fault.calls < at) break;
                injected++;
                char where[700];
                snprintf(where, sizeof where, "%s (call %d) %s%s: %s", fault.name, at,
                         how[h] > 0 ? strerror(how[h]) : "short", sticky ? " for good" : "",
                         e.text);
                CHECK(ok == (e.status == STATUS_DONE), "%s", where);
                bool old = holds(path, "old", 3), new = holds(path, fresh, n);
                /* Once renamed it is the new file, even if the folder then cannot be synced. */
                bool behind_rename = !ok && strcmp(fault.name, "fsync") == 0 && new;
                CHECK(ok || behind_rename ? new : old, "%s", where);
                /* rename and fcntl are not interrupted (POSIX), so they are not called again. */
                bool uninterrupted =
                    strcmp(fault.name, "renameat") == 0 || strcmp(fault.name, "fcntl") == 0;
                bool harmless = how[h] == SHORT || (how[h] == EINTR && !uninterrupted);
                if (harmless && !sticky) CHECK(ok, "%s", where);
                if (!ok)
                    CHECK(e.status == STATUS_IO || e.status == STATUS_CANNOT_CREATE, "%s", where);
                CHECK(entries() == 1, "%s", where);
            }
    CHECK(injected > 60, "found %d", injected);
    free(fresh);
}

/* A process killed before or after any system call of a save leaves the old file or the new one,
 * whole, and the next save works and cleans up. */
TEST(kills_leave_a_whole_file) {
    const char *path = in_folder("model");
    const size_t n = 150000;
    char *fresh = pattern(n);
    int killed = 0, replaced = 0;
    for (int how = KILL_AFTER; how <= KILL_BEFORE; how++)
        for (int at = 1;; at++) {
            write_text(path, "old");
            fflush(stdout);
            pid_t child = fork();
            if (child == 0) {
                Error e = {0};
                fault.at = at;
                fault.how = how;
                fault.calls = 0;
                save(path, fresh, n, &e);
                _exit(0);
            }
            int status = -1;
            CHECK(child > 0 && waitpid(child, &status, 0) == child);
            if (WIFEXITED(status)) break;
            killed++;
            bool old = holds(path, "old", 3), new = holds(path, fresh, n);
            CHECK(old || new, "call %d", at);
            replaced += new;
            Error e = {0};
            CHECK(save(path, "next", 4, &e) && holds(path, "next", 4), "call %d: %s", at, e.text);
            CHECK(entries() == 1, "call %d", at);
        }
    CHECK(killed > 16 && replaced > 2, "%d kills, %d behind the renaming", killed, replaced);
    free(fresh);
}

/* The target appears when the file is committed, not before, and not at all when it is abandoned.
 */
TEST(nothing_shows_before_the_commit) {
    const char *path = in_folder("model");
    Error e = {0};
    File *f = file_create(path, &e);
    CHECK(f != NULL && access(path, F_OK) != 0);
    file_write(f, "new", 3);
    file_abandon(f);
    CHECK(entries() == 0);

    write_text(path, "old");
    f = file_create(path, &e);
    file_write(f, "new", 3);
    CHECK(holds(path, "old", 3) && entries() == 2);
    CHECK(file_create(path, &e) == NULL); /* one at a time */
    CHECK_ERROR(e, STATUS_CANNOT_CREATE, "another process is writing it");
    CHECK(file_commit(f, &e) == true && holds(path, "new", 3) && entries() == 1);
    file_abandon(NULL);
}

/* A new file has the mode that the umask leaves, an old one keeps its own. */
TEST(modes_are_kept) {
    struct stat st;
    Error e = {0};
    umask(027);
    CHECK(save(in_folder("new"), "x", 1, &e) && stat(in_folder("new"), &st) == 0 &&
              (st.st_mode & 07777) == 0640,
          "found %o", st.st_mode);
    write_text(in_folder("old"), "x");
    chmod(in_folder("old"), 0604);
    CHECK(save(in_folder("old"), "y", 1, &e) && stat(in_folder("old"), &st) == 0 &&
              (st.st_mode & 07777) == 0604,
          "found %o", st.st_mode);
}

/* Saves through links, relative and absolute, and in a chain; the links stay. A link to nothing is
 * refused. */
TEST(links_are_followed) {
    struct stat st;
    Error e = {0};
    mkdir(in_folder("sub"), 0700);
    CHECK(symlink("sub/real", in_folder("one")) == 0 && symlink("one", in_folder("two")) == 0 &&
          symlink(in_folder("two"), in_folder("three")) == 0 &&
          symlink("self", in_folder("self")) == 0);
    static const char *const names[] = {"one", "two", "three"};
    CHECK(!save(in_folder("one"), "x", 1, &e));
    CHECK_ERROR(e, STATUS_CANNOT_CREATE, "one: found a link to nothing, need a regular file");
    e = (Error){0};
    write_text(in_folder("sub/real"), "old");
    for (int i = 0; i < 3; i++) {
        CHECK(save(in_folder(names[i]), names[i], strlen(names[i]), &e), "%s", e.text);
        CHECK(holds(in_folder("sub/real"), names[i], strlen(names[i])));
        CHECK(lstat(in_folder(names[i]), &st) == 0 && S_ISLNK(st.st_mode));
    }
    CHECK(!save(in_folder("self"), "x", 1, &e));
    CHECK_ERROR(e, STATUS_CANNOT_CREATE, strerror(ELOOP));

    /* Relative to the working directory, with and without a folder in the name. */
    e = (Error){0};
    CHECK(chdir(folder) == 0 && save("plain", "x", 1, &e) && save("sub/plain", "x", 1, &e) &&
          save("./one", "y", 1, &e));
    CHECK(holds("plain", "x", 1) && holds("sub/plain", "x", 1) && holds("sub/real", "y", 1));
    CHECK(save("one", "z", 1, &e) && holds("sub/real", "z", 1), "%s", e.text);
}

TEST(refuses_to_write) {
    struct sockaddr_un place = {.sun_family = AF_UNIX};
    snprintf(place.sun_path, sizeof place.sun_path, "%s", in_folder("socket"));
    int end = socket(AF_UNIX, SOCK_STREAM, 0);
    CHECK(bind(end, (const struct sockaddr *)&place, sizeof place) == 0);
    char longest[251];
    memset(longest, 'n', 250);
    longest[250] = 0;
    /* A file of another kind under the name of a temporary file stays. */
    CHECK(mkfifo(in_folder("fifo"), 0600) == 0 &&
          mkdir(in_folder(".x.tapeformer-tmp"), 0700) == 0 &&
          symlink("/etc/passwd", in_folder(".y.tapeformer-tmp")) == 0 && chdir(folder) == 0);
    const struct {
        const char *path, *text;
    } cases[] = {
        {"/dev/null", "/dev/null: found a device, need a regular file"},
        {"/nowhere/file", "/nowhere/file: No such file or directory"},
        {"/", "/: found a directory, need a regular file"},
        {".", ".: found a directory, need a regular file"},
        {"", ": found a directory, need a regular file"},
        {"/etc/passwd/file", "/etc/passwd/file: Not a directory"},
        {"fifo", "fifo: found a FIFO, need a regular file"},
        {"socket", "socket: found a socket, need a regular file"},
        {longest, strerror(ENAMETOOLONG)},
        {"x", "x: Is a directory"},
        {"y", "y: "},
    };
    Error e = {0};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        e = (Error){0};
        CHECK(file_create(cases[i].path, &e) == NULL, "%s", cases[i].path);
        CHECK_ERROR(e, STATUS_CANNOT_CREATE, cases[i].text);
    }
    close(end);
    CHECK(entries() == 4);

    /* As somebody who may not: a file that is write-protected, and a folder. */
    write_text(in_folder("mine"), "old");
    chmod(in_folder("mine"), 0444);
    chmod(folder, 0777);
    pid_t child = fork();
    if (child == 0) {
        CHECK(geteuid() != 0 || setuid(65534) == 0);
        e = (Error){0};
        CHECK(!file_create(in_folder("mine"), &e));
        CHECK_ERROR(e, STATUS_CANNOT_CREATE, "mine: Permission denied");
        e = (Error){0};
        CHECK(!file_create("/usr/tapeformer-test", &e) && e.status == STATUS_CANNOT_CREATE);
        fflush(stdout);
        _exit(test_failures != 0);
    }
    int status = -1;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    CHECK(holds(in_folder("mine"), "old", 3));
}

/* Many processes save one file at the same time. It is whole at every moment, and each save
 * succeeds or reports that another process is writing. */
TEST(writers_do_not_mix) {
    enum { WRITERS = 4, SAVES = 60, BYTES = 70000 };
    const char *path = in_folder("model");
    fflush(stdout);
    pid_t child[WRITERS];
    for (int w = 0; w < WRITERS; w++) {
        child[w] = fork();
        if (child[w]) continue;
        char *bytes = malloc(BYTES);
        memset(bytes, 'a' + w, BYTES);
        for (int i = 0; i < SAVES; i++) {
            Error e = {0};
            if (!save(path, bytes, BYTES, &e)) CHECK_ERROR(e, STATUS_CANNOT_CREATE, "writing it");
            char *data;
            size_t size;
            e = (Error){0};
            if (!file_read(path, 0, &data, &size, &e)) continue; /* not there yet */
            CHECK(size == BYTES);
            for (size_t k = 1; k < size; k++) CHECK(data[k] == data[0]);
            free(data);
        }
        free(bytes);
        fflush(stdout);
        _exit(test_failures != 0);
    }
    for (int w = 0; w < WRITERS; w++) {
        int status = -1;
        CHECK(waitpid(child[w], &status, 0) == child[w] && status == 0, "writer %d", w);
    }
    CHECK(entries() == 1);
}

RUN_TESTS_AFTER(make_folder)
