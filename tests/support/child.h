/* The built programs as a user meets them: run in a folder of the test's own, with what they print
 * kept. */
#pragma once

#include "folder.h"
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <sys/ioctl.h>
#include <sys/resource.h>

/* BUILD/PRECISION of this test, which is BUILD/PRECISION/tests/DIRECTORY/THIS. */
static char program_folder[PATH_MAX];

/* Where a program is built, from there: in the precision in which users have it. */
static inline const char *program_precision(const char *program) {
    static const char *const names[] = {"train", "generate", "bench", "gradcheck", "explain"};
    for (int i = 0; i < 5; i++)
        if (strcmp(program, names[i]) == 0) return i < 3 ? "../float/" : "../double/";
    return "";
}

static inline bool find_programs(const char *argv0) {
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%.*s/../..",
             (int)(strrchr(argv0, '/') ? strrchr(argv0, '/') - argv0 : 0), argv0);
    return realpath(path, program_folder) != NULL;
}

/* A shell ignores Ctrl-C for what runs in its background, nohup a closed terminal, and programs go
 * on ignoring them. */
static inline void end_by_signals(void) {
    static const int number[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGPIPE};
    for (size_t i = 0; i < sizeof number / sizeof *number; i++) signal(number[i], SIG_DFL);
}

static char source_folder[PATH_MAX]; /* the source tree, where a test program starts */

static inline int program_tests(int argc, char **argv) {
    if (!find_programs(argv[0]) || !getcwd(source_folder, sizeof source_folder)) return 1;
    end_by_signals();
    test_begin = enter_folder;
    return test_main(argc, argv);
}

/* As RUN_TESTS, for tests of programs: each begins in a new folder. */
#define RUN_PROGRAM_TESTS                                                                          \
    int main(int argc, char **argv) {                                                              \
        return program_tests(argc, argv);                                                          \
    }

/* gradcheck judges in double, as it is shipped: a build in float skips RUN_SHIPPED_TESTS. */
#define SHIPPED (sizeof(real) == sizeof(double))
static inline int shipped_tests(int argc, char **argv) {
    if (SHIPPED) return program_tests(argc, argv);
    printf("skip %s: gradcheck judges in double precision\n", argv[0]);
    return 0;
}
#define RUN_SHIPPED_TESTS                                                                          \
    int main(int argc, char **argv) {                                                              \
        return shipped_tests(argc, argv);                                                          \
    }

enum { MAX_OUTPUT = 1 << 22, MAX_ARGUMENTS = 48, CHILD_SECONDS = 300 * PATIENCE };
static char out[MAX_OUTPUT], err[MAX_OUTPUT]; /* what the last child printed */

/* The three standard streams of a program. */
typedef struct Streams {
    const char *input, *output,
        *error;         /* paths; NULL: nothing to read, kept in out, kept in err; "": closed */
    int terminal, pipe; /* stderr and stdout are these files, unless 0 */
} Streams;

/* A program at work. */
typedef struct Child {
    pid_t pid;
    FILE *out, *err;
} Child;

static inline void redirect(int fd, const char *path, int flags, int otherwise) {
    int to = path && *path ? open(path, flags, 0666) : otherwise;
    if (to >= 0) dup2(to, fd);
    if (path && !*path) close(fd);
}

static inline void slurp(FILE *file, char text[MAX_OUTPUT]) {
    rewind(file);
    text[fread(text, 1, MAX_OUTPUT - 1, file)] = 0;
    fclose(file);
}

/* Opens a terminal of this width. Returns the end that reads; *shown is the end that programs write
 * to. */
static inline int open_terminal(int columns, int *shown) {
    int terminal = posix_openpt(O_RDWR | O_NOCTTY);
    struct winsize size = {.ws_row = 24, .ws_col = (unsigned short)columns};
    CHECK(terminal >= 0 && grantpt(terminal) == 0 && unlockpt(terminal) == 0);
    *shown = open(ptsname(terminal), O_RDWR | O_NOCTTY);
    CHECK(*shown >= 0 && ioctl(*shown, TIOCSWINSZ, &size) == 0);
    return terminal;
}

/* Reads a terminal until its other end is closed. */
static inline void read_terminal(int terminal, char text[MAX_OUTPUT]) {
    size_t used = 0;
    ssize_t n = 1;
    while (n > 0) {
        n = read(terminal, text + used, MAX_OUTPUT - 1 - used);
        if (n > 0) used += (size_t)n;
    }
    text[used] = 0;
    close(terminal);
}

/* Starts a program with these arguments, which a NULL ends. It must end within CHILD_SECONDS. */
static inline Child start_program(const char *program, const char *const *arguments, Streams s) {
    Child c = {0, tmpfile(), tmpfile()};
    char path[PATH_MAX + 48], *argv[MAX_ARGUMENTS + 2] = {(char *)program};
    snprintf(path, sizeof path, "%s/%s%s", program_folder, program_precision(program), program);
    for (int n = 0; arguments[n] && n < MAX_ARGUMENTS; n++) argv[n + 1] = (char *)arguments[n];
    fflush(stdout);
    *out = *err = 0;
    c.pid = fork();
    if (c.pid == 0) {
        redirect(STDIN_FILENO, s.input, O_RDONLY, open("/dev/null", O_RDONLY | O_CLOEXEC));
        redirect(STDOUT_FILENO, s.output, O_WRONLY, s.pipe ? s.pipe : fileno(c.out));
        redirect(STDERR_FILENO, s.error, O_WRONLY, s.terminal ? s.terminal : fileno(c.err));
        for (int fd = STDERR_FILENO + 1; fd < 64; fd++) close(fd);
        alarm(CHILD_SECONDS);
        execv(path, argv);
        _exit(127);
    }
    return c;
}

/* Waits for a program: its exit status, or 128 and the number of the signal that ended it. */
static inline int wait_program(pid_t child) {
    int status = -1;
    if (child <= 0 || waitpid(child, &status, 0) != child) return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* Waits for a program, whose output is then in out and err; its status. */
static inline int end_program(Child c) {
    int status = wait_program(c.pid);
    slurp(c.out, out);
    slurp(c.err, err);
    return status;
}

static inline int run_program(const char *program, const char *const *arguments, Streams s) {
    return end_program(start_program(program, arguments, s));
}

#define ARGUMENTS(...)                                                                             \
    (const char *const[]) {                                                                        \
        __VA_ARGS__, NULL                                                                          \
    }
#define START(...)     start_program("train", ARGUMENTS(__VA_ARGS__), (Streams){0})
#define TRAIN(...)     run_program("train", ARGUMENTS(__VA_ARGS__), (Streams){0})
#define GENERATE(...)  run_program("generate", ARGUMENTS(__VA_ARGS__), (Streams){0})
#define GRADCHECK(...) run_program("gradcheck", ARGUMENTS(__VA_ARGS__), (Streams){0})

/* This run of a program ends with status 0. */
#define MUST(run) CHECK((run) == 0, "%s", err)

/* Writes a text of this many characters, which a small model learns. */
static inline void write_cat_text(const char *path, int length) {
    FILE *f = fopen(path, "w");
    CHECK(f, "%s", path);
    if (!f) return;
    for (long long i = 0; i < length; i++)
        fputc("the cat sat on the mat, \n"[(i * i + i / 7) % 25], f);
    fclose(f);
}

/* ---- Folders ---- */

#ifdef __APPLE__
#define st_mtim st_mtimespec
#endif

/* Everything in the folder as text: names, and sizes and times of what is no folder. */
static char listing[MAX_OUTPUT];

static inline int list_entry(const char *path, const struct stat *s, int type, struct FTW *place) {
    (void)place;
    size_t used = strlen(listing);
    if (type == FTW_D)
        snprintf(listing + used, sizeof listing - used, "%s/\n", path);
    else
        snprintf(listing + used, sizeof listing - used, "%s %ld %ld.%09ld\n", path,
                 (long)s->st_size, (long)s->st_mtim.tv_sec, s->st_mtim.tv_nsec);
    return 0;
}

static inline const char *list_folder(const char *path) {
    *listing = 0;
    nftw(path, list_entry, 8, FTW_PHYS);
    return listing;
}

/* A path of the folder at hand, so long that no file in it has one. */
static inline const char *longest_path(void) {
    static char path[PATH_MAX - 5];
    for (size_t i = 0; i + 1 < sizeof path; i++) path[i] = i % 2 ? '/' : '.';
    return path;
}
