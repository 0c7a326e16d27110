#include "check/child.h"
#include "base/clock.h"
#include "base/interrupt.h"
#include "check/directories.h"
#include "check/sandbox.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { AT_ONCE = 64, RESULT_LIMIT = 1 << 26, CHILD_PATH = PATH_MAX + 32 };

/* ---- In a child: the job ---- */

/* The last byte that a job sends if it returns. */
static const char CHILD_END = 'E';

/* Pipes: to the parent what it sends and what it prints, and from the parent what it is told. */
enum { CHILD_RESULT, CHILD_PRINTS, CHILD_REQUEST, CHILD_PIPES };

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
    _exit(child_send(&CHILD_END, 1) ? 0 : STATUS_IO);
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
static double seconds_allowed(const ChildLimits *l) {
    return ceil(l->seconds * (l->cases ? (double)l->cases : 1));
}

static void set_limits(const ChildLimits *l) {
    system_lower_limit(RLIMIT_CORE, 0, 0);
    system_lower_limit(RLIMIT_CPU, seconds_allowed(l), seconds_allowed(l) + 1);
    if (l->file_bytes)
        system_lower_limit(RLIMIT_FSIZE, (double)l->file_bytes, (double)l->file_bytes);
    if (l->bytes && !SANDBOX_SANITIZED)
        system_lower_limit(RLIMIT_AS, (double)l->bytes, (double)l->bytes);
}

static char own_directory[PATH_MAX];

static const char *directory_of(const ChildLimits *limits, pid_t pid, char path[CHILD_PATH]) {
    snprintf(path, CHILD_PATH, "%s/tmp.%ld", limits->folder, (long)pid);
    return path;
}

static void make_directory(const ChildLimits *limits) {
    static const char *const names[] = {"TMPDIR", "HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME"};
    char path[CHILD_PATH];
    if (mkdir(directory_of(limits, getpid(), path), 0700) != 0 || !realpath(path, own_directory))
        return;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) setenv(names[i], own_directory, 1);
}

const char *child_directory(void) {
    return *own_directory ? own_directory : NULL;
}

static _Noreturn void live(long i, const ChildLimits *limits, int pipe[CHILD_PIPES][2],
                           pid_t parent, void (*job)(void *context, long i), void *context) {
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

/* ---- In the parent ---- */

/* The end of a pipe that is read, and the bytes read from it, followed by a NUL if there are any.
 */
typedef struct Inflow {
    int end; /* -1: closed */
    char *bytes;
    size_t size, capacity, most;
    bool lost; /* bytes beyond `most`, or for which there is no memory */
} Inflow;

struct Child {
    pid_t pid;
    long job;
    ChildLimits limits;
    double born;
    bool talks;    /* its messages are read by child_hear */
    double waited; /* seconds in which it was waited for, if it talks */
    double used;   /* processor time when its limits began */
    Inflow result, printed;
    int request[2]; /* both ends of its pipe stay open, so that writing to one that has ended is no
                       error */
    bool timed_out, full, interrupted, ended;
    double looked, measured; /* when it was looked at, and its directory measured */
};

/* Milliseconds to wait for a message, and for a job that has closed its pipes. */
enum { GLANCE = 20, MOMENT = 1 };

/* A child that uses less of its time sleeps. On a busy machine one that computes uses more. */
static const double SLEEPING = 0.02;

/* Opens a pipe that a program which follows does not inherit. */
static bool open_pipe(int end[2]) {
    if (pipe(end) != 0) return false;
    if (fcntl(end[0], F_SETFD, FD_CLOEXEC) == 0 && fcntl(end[1], F_SETFD, FD_CLOEXEC) == 0)
        return true;
    close(end[0]);
    close(end[1]);
    return false;
}

static Child *new_child(Child with) {
    Child *c = malloc(sizeof *c);
    if (!c) error_no_memory("a process");
    *c = with;
    const int ends[] = {c->result.end, c->printed.end, c->request[1]};
    for (int k = 0; k < 3; k++) fcntl(ends[k], F_SETFL, O_NONBLOCK);
    return c;
}

Child *child_start(long i, const ChildLimits *limits, void (*job)(void *context, long i),
                   void *context) {
    int pipe[CHILD_PIPES][2], pipes = 0;
    while (pipes < CHILD_PIPES && open_pipe(pipe[pipes])) pipes++;
    fflush(NULL); /* or the child prints what the parent has buffered */
    pid_t parent = getpid(), pid = pipes == CHILD_PIPES ? fork() : -1;
    if (pid == 0) live(i, limits, pipe, parent, job, context);
    for (int k = 0; k < pipes; k++) {
        if (k != CHILD_REQUEST || pid < 0) close(pipe[k][1]);
        if (pid < 0) close(pipe[k][0]);
    }
    if (pid < 0) return NULL;
    return new_child((Child){.pid = pid,
                             .job = i,
                             .limits = *limits,
                             .born = clock_seconds(),
                             .result = {.end = pipe[CHILD_RESULT][0], .most = RESULT_LIMIT},
                             .printed = {.end = pipe[CHILD_PRINTS][0], .most = CHILD_PRINTED},
                             .request = {pipe[CHILD_REQUEST][0], pipe[CHILD_REQUEST][1]}});
}

Child *child_attach(int from, int to, const ChildLimits *limits) {
    return new_child((Child){
        .limits = *limits, .result = {.end = from}, .printed = {.end = -1}, .request = {-1, to}});
}

static void keep(Inflow *f, const char *bytes, size_t size) {
    size_t kept = size < f->most - f->size ? size : f->most - f->size;
    if (kept && f->size + kept >= f->capacity) {
        size_t capacity = 2 * (f->size + kept) + 4096;
        char *grown = realloc(f->bytes, capacity);
        if (grown) f->bytes = grown;
        if (grown) f->capacity = capacity;
        if (!grown) kept = 0;
    }
    f->lost |= kept < size;
    if (!kept) return;
    memcpy(f->bytes + f->size, bytes, kept);
    f->size += kept;
    f->bytes[f->size] = 0;
}

/* Reads all available bytes; closes the pipe at its end. */
static void drain(Inflow *f) {
    char buffer[1 << 14];
    for (int reads = 0; f->end >= 0 && reads < 64; reads++) {
        ssize_t n = read(f->end, buffer, sizeof buffer);
        if (n > 0) {
            keep(f, buffer, (size_t)n);
        } else if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
            close(f->end);
            f->end = -1;
        } else {
            break;
        }
    }
}

static ChildEnd ended_with(ChildEnd end, ChildFate fate, int number) {
    end.fate = fate;
    end.number = number;
    return end;
}

/* Ends the process group of a child that has ended, and reads the rest of its output. */
static ChildEnd bury(Child *c, int status) {
    Inflow *all[] = {&c->result, &c->printed}, *result = all[0];
    char path[CHILD_PATH];
    kill(-c->pid, SIGKILL);
    c->ended = true;
    if (c->limits.folder) directory_remove(directory_of(&c->limits, c->pid, path));
    for (int k = 0; k < 2; k++) {
        drain(all[k]);
        if (all[k]->end >= 0) close(all[k]->end);
    }
    ChildEnd end = {.result = "", .printed = c->printed.bytes ? c->printed.bytes : ""};
    bool whole = result->size && !result->lost && result->bytes[result->size - 1] == CHILD_END;
    if (c->interrupted)
        end.fate = CHILD_INTERRUPTED;
    else if (c->full)
        end.fate = CHILD_FULL;
    else if (c->timed_out || (WIFSIGNALED(status) && WTERMSIG(status) == SIGXCPU))
        end.fate = CHILD_TIMED_OUT;
    else if (WIFSIGNALED(status))
        end = ended_with(end, CHILD_SIGNALLED, WTERMSIG(status));
    else if (!whole || WEXITSTATUS(status))
        end = ended_with(end, CHILD_EXITED, WEXITSTATUS(status));
    if (result->size) {
        end.result = result->bytes;
        end.size = result->size - (end.fate == CHILD_DONE);
        result->bytes[end.size] = 0;
    }
    return end;
}

/* Seconds of processor time of a living child; NAN if unknown. */
static double seconds_of(pid_t pid) {
    clockid_t its;
    struct timespec used;
    if (clock_getcpuclockid(pid, &its) != 0 || clock_gettime(its, &used) != 0) return NAN;
    return (double)used.tv_sec + 1e-9 * (double)used.tv_nsec;
}

void child_again(Child *c) {
    c->waited = 0;
    c->used = c->pid ? seconds_of(c->pid) : 0;
}

/* Whether its time is over: the limit of processor time, three times as long, or the limit if it
 * sleeps. */
static bool is_late(const Child *c) {
    double limit = c->limits.seconds, passed = c->talks ? c->waited : clock_seconds() - c->born,
           used = seconds_of(c->pid) - c->used;
    return used > limit || passed > 3 * limit ||
           (c->limits.awake && passed > limit && used < SLEEPING * passed);
}

/* Whether its own directory holds more than it may. */
static bool is_full(Child *c) {
    char path[CHILD_PATH];
    double now = clock_seconds();
    if (!c->limits.folder || now - c->measured < GLANCE * 1e-3) return false;
    c->measured = now;
    return directory_bytes(directory_of(&c->limits, c->pid, path)) > c->limits.folder_bytes;
}

/* The end of a child that is no child of this process: its pipe is closed, or its time is over. */
static bool attached_lives(const Child *c, ChildEnd *end) {
    struct pollfd fd = {c->result.end, POLLIN, 0};
    bool late = c->waited > 3 * c->limits.seconds,
         closed = poll(&fd, 1, 0) == 1 && !(fd.revents & POLLIN);
    *end = (ChildEnd){.fate = late ? CHILD_TIMED_OUT : CHILD_EXITED, .result = "", .printed = ""};
    return !late && !closed;
}

static bool lives(Child *c, ChildEnd *end) {
    int status;
    if (!c->pid) return attached_lives(c, end);
    if (!c->talks) drain(&c->result);
    drain(&c->printed);
    bool late = is_late(c), interrupted = interrupt_signal() != 0, full = is_full(c);
    if ((late && !c->timed_out) || (interrupted && !c->interrupted) || full) {
        c->timed_out = late;
        c->interrupted = interrupted;
        c->full |= full;
        kill(-c->pid, SIGKILL);
        kill(c->pid, SIGKILL);
    }
    double used;
    if (!system_ended(c->pid, &status, &used)) return true;
    /* The system kills a process that runs past its limit. A kill before that has another reason.
     */
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
        c->timed_out |= used >= seconds_allowed(&c->limits);
    *end = bury(c, status);
    return false;
}

/* Waits until the child takes (POLLOUT) or has sent bytes, or for a moment. Returns whether it
 * does; now and then false, so that the caller looks at the child. */
static bool await(Child *c, int end, short event) {
    struct pollfd fd[] = {{end, event, 0}, {c->printed.end, POLLIN, 0}};
    double began = clock_seconds(), now;
    poll(fd, 2, GLANCE);
    if (fd[0].revents & POLLHUP) poll(NULL, 0, MOMENT);
    now = clock_seconds();
    c->waited += now - began;
    if (now - c->looked < GLANCE * 1e-3) return fd[0].revents & event;
    c->looked = now;
    return false;
}

bool child_tell(Child *c, const void *bytes, size_t size, ChildEnd *end) {
    const char *at = bytes;
    c->talks = true;
    while (size) {
        ssize_t n = write(c->request[1], at, size);
        if (n > 0) {
            at += n;
            size -= (size_t)n;
        } else if (!await(c, c->request[1], POLLOUT) && !lives(c, end)) {
            return false;
        }
    }
    return true;
}

size_t child_hear(Child *c, void *to, size_t size, ChildEnd *end) {
    c->talks = true;
    for (;;) {
        bool ready = await(c, c->result.end, POLLIN);
        ssize_t n = read(c->result.end, to, size);
        if (n > 0) return (size_t)n;
        if (!ready && !lives(c, end)) return 0;
    }
}

void child_stop(Child *c) {
    int status;
    if (!c->pid) return;
    if (!c->ended) {
        kill(-c->pid, SIGKILL);
        kill(c->pid, SIGKILL);
        waitpid(c->pid, &status, 0);
        bury(c, status);
    }
    close(c->request[0]);
    close(c->request[1]);
    free(c->result.bytes);
    free(c->printed.bytes);
    free(c);
}

/* Waits for output of a child, or for a moment: one whose pipe is closed dies soon, without a sign.
 */
static void wait_for_news(Child *const *child, int children) {
    struct pollfd fd[2 * AT_ONCE];
    nfds_t count = 0;
    int moment = GLANCE;
    for (int i = 0; i < children; i++) {
        int result = child[i]->result.end, printed = child[i]->printed.end;
        if (result >= 0) fd[count++] = (struct pollfd){result, POLLIN, 0};
        if (printed >= 0) fd[count++] = (struct pollfd){printed, POLLIN, 0};
        if (result < 0) moment = MOMENT;
    }
    poll(fd, count, moment);
}

void child_run_all(long jobs, int at_once, const ChildLimits *limits,
                   void (*job)(void *context, long i),
                   void (*done)(void *context, long i, const ChildEnd *end), void *context) {
    Child *child[AT_ONCE];
    int living = 0;
    if (at_once > AT_ONCE) at_once = AT_ONCE;
    for (long next = 0; next < jobs || living;) {
        while (next < jobs && living < at_once) {
            ChildEnd none = {.fate = interrupt_signal() ? CHILD_INTERRUPTED : CHILD_NOT_BORN,
                             .result = "",
                             .printed = ""};
            child[living] =
                none.fate == CHILD_NOT_BORN ? child_start(next, limits, job, context) : NULL;
            if (!child[living] && living && none.fate == CHILD_NOT_BORN)
                break; /* later there may be room */
            if (child[living])
                living++;
            else
                done(context, next, &none);
            next++;
        }
        if (!living) continue;
        wait_for_news(child, living);
        for (int i = 0; i < living;) {
            ChildEnd end;
            if (lives(child[i], &end)) {
                i++;
                continue;
            }
            done(context, child[i]->job, &end);
            child_stop(child[i]);
            child[i] = child[--living];
        }
    }
}
