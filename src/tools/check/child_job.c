#include "base/interrupt.h"
#include "check/child.h"
#include "check/sandbox.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static int result_pipe = -1, request_pipe = -1;

bool child_send(const void *bytes, size_t size) {
    const char *at = bytes;
    while (size) {
        ssize_t n = write(result_pipe, at, size);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return false;
        at += n;
        size -= (size_t)n;
    }
    return true;
}

Child *child_parent(void) {
    const double ever = 1e9;
    return child_attach(request_pipe, result_pipe, &(ChildLimits){.seconds = ever});
}

_Noreturn void child_become(char *const argument[]) {
    dup2(request_pipe, STDIN_FILENO);
    dup2(result_pipe, STDOUT_FILENO);
    execvp(argument[0], argument);
    fprintf(stderr, "%s: cannot be run\n", argument[0]);
    _exit(STATUS_BUG);
}

static void end_family(int signal_number) {
    (void)signal_number;
    kill(0, SIGKILL);
}

_Noreturn void child_become_family(char *const argument[], int cannot_run) {
    int status = 0;
    pid_t parent = getppid();
    signal(SIGTERM, end_family);
    system_end_with_parent(parent, SIGTERM);
    pid_t child = fork();
    if (child == 0) {
        execvp(argument[0], argument);
        printf("%s: cannot be run", argument[0]);
        fflush(stdout);
        _exit(cannot_run);
    }
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
    if (child < 0) {
        printf("%s: %s", argument[0], strerror(errno));
        fflush(stdout);
        _exit(STATUS_NO);
    }
    if (WIFSIGNALED(status)) {
        signal(WTERMSIG(status), SIG_DFL);
        raise(WTERMSIG(status));
    }
    _exit(WEXITSTATUS(status));
}

_Noreturn void child_finish(void) {
    fflush(NULL);
    const char end = CHILD_END;
    _exit(child_send(&end, 1) ? 0 : STATUS_IO);
}

enum { FIRST_FREE = 3, MAX_DESCRIPTORS = 1024 };

/* Closes the parent's other open files. */
static void close_others(const ChildLimits *limits) {
    for (int file = FIRST_FREE; file < MAX_DESCRIPTORS; file++) {
        bool kept = file == result_pipe || file == request_pipe;
        for (int i = 0; i < CHILD_KEEPS; i++) kept |= file == limits->keep[i];
        if (!kept) close(file);
    }
}

/* Copies a pipe's end to a number as high as the limit of open files lets it, so that a job that
 * closes or writes low numbers does not meet it. A program that follows does not inherit it. */
static int moved_up(int end) {
    for (int from = 200; from >= FIRST_FREE; from /= 2) {
        int copy = fcntl(end, F_DUPFD_CLOEXEC, from);
        if (copy >= 0) return copy;
    }
    return -1;
}

/* Processor time after which the system ends a job. */
double child_seconds(const ChildLimits *l) {
    return ceil(l->seconds * (l->cases ? (double)l->cases : 1));
}

static void set_limits(const ChildLimits *l) {
    system_lower_limit(RLIMIT_CORE, 0, 0);
    system_lower_limit(RLIMIT_CPU, child_seconds(l), child_seconds(l) + 1);
    if (l->file_bytes)
        system_lower_limit(RLIMIT_FSIZE, (double)l->file_bytes, (double)l->file_bytes);
    if (l->bytes && !SANDBOX_SANITIZED)
        system_lower_limit(RLIMIT_AS, (double)l->bytes, (double)l->bytes);
}

static char own_directory[PATH_MAX]; /* in a child */

/* The directory of a job's own. */
const char *child_directory_of(const ChildLimits *limits, pid_t pid, char path[CHILD_PATH]) {
    snprintf(path, CHILD_PATH, "%s/tmp.%ld", limits->folder, (long)pid);
    return path;
}

static void make_directory(const ChildLimits *limits) {
    static const char *const names[] = {"TMPDIR", "HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME"};
    char path[CHILD_PATH];
    if (mkdir(child_directory_of(limits, getpid(), path), 0700) != 0 ||
        !realpath(path, own_directory))
        return;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) setenv(names[i], own_directory, 1);
}

const char *child_directory(void) {
    return *own_directory ? own_directory : NULL;
}

_Noreturn void child_live(long i, const ChildLimits *limits, int pipe[CHILD_PIPES][2], pid_t parent,
                          void (*job)(void *context, long i), void *context) {
    setsid(); /* a group of its own, and no terminal */
    system_end_with_parent(parent, SIGKILL);
    interrupt_leave();
    if (limits->folder) make_directory(limits);
    int nothing = open("/dev/null", O_RDONLY);
    if (nothing >= 0) dup2(nothing, STDIN_FILENO);
    dup2(pipe[CHILD_PRINTS][1], STDOUT_FILENO);
    dup2(pipe[CHILD_PRINTS][1], STDERR_FILENO);
    result_pipe = moved_up(pipe[CHILD_RESULT][1]);
    request_pipe = moved_up(pipe[CHILD_REQUEST][0]);
    close_others(limits);
    set_limits(limits);
    job(context, i);
    child_finish();
}
