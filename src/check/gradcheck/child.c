#include "check/gradcheck/child.h"
#include "base/clock.h"
#include "base/interrupt.h"
#include "base/utf8.h"
#include "check/gradcheck/check_system.h"
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { AT_ONCE = 64, RESULT_LIMIT = 1 << 26 };

/* Sent last: the job came to its end by itself. */
static const char end_mark = 'E';

struct Child {
    pid_t pid;
    long job;
    double seconds; /* its limit */
    double deadline;
    int result, printed; /* pipes; -1: closed */
    int wake[2];         /* a pipe, both ends of which stay open, so that writing always works */
    char *bytes;
    size_t size, capacity;
    char text[CHILD_PRINTED + 1];
    size_t text_size;
    bool timed_out, interrupted;
    bool lost; /* its result is too long, or there is no memory for it */
    bool ended;
};

static int result_pipe = -1, wake_pipe = -1; /* in a child */

/* Milliseconds to wait for a message, and between looks where none can come (the job has closed its
 * pipes). */
enum { GLANCE = 20, MOMENT = 1 };

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

void child_sleep(void) {
    char call;
    ssize_t n = read(wake_pipe, &call, 1);
    if (n == 0) _exit(0);
    if (n < 0) nanosleep(&(struct timespec){.tv_nsec = MOMENT * 1000000}, NULL);
}

_Noreturn void child_finish(void) {
    fflush(NULL);
    _exit(child_send(&end_mark, 1) ? 0 : STATUS_IO);
}

static bool under_sanitizer(void) {
#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
    return true;
#elif defined __has_feature
    return __has_feature(address_sanitizer) || __has_feature(thread_sanitizer);
#else
    return false;
#endif
}

/* The limit, lowered to value, and for good where `hard` says so, as far as it may be. */
static const struct rlimit *lowered(struct rlimit *limit, double value, double hard) {
    rlim_t soft = (rlim_t)value, most = (rlim_t)hard;
    if (limit->rlim_max == RLIM_INFINITY || soft < limit->rlim_max) limit->rlim_cur = soft;
    if (limit->rlim_max == RLIM_INFINITY || most < limit->rlim_max) limit->rlim_max = most;
    return limit;
}

static void set_limits(const ChildLimits *limits) {
    struct rlimit l;
    double seconds = ceil(limits->seconds);
    if (getrlimit(RLIMIT_CORE, &l) == 0) setrlimit(RLIMIT_CORE, lowered(&l, 0, 0));
    if (getrlimit(RLIMIT_CPU, &l) == 0) setrlimit(RLIMIT_CPU, lowered(&l, seconds, seconds + 1));
    if (limits->file_bytes && getrlimit(RLIMIT_FSIZE, &l) == 0)
        setrlimit(RLIMIT_FSIZE, lowered(&l, (double)limits->file_bytes, (double)limits->file_bytes));
    if (limits->bytes && !under_sanitizer() && system_memory_limit(&l))
        system_limit_memory(lowered(&l, (double)limits->bytes, (double)limits->bytes));
}

enum { FIRST_FREE = 3, MOST_DESCRIPTORS = 1024 };

/* Closes the parent's other open files. */
static void close_others(const ChildLimits *limits) {
    int from = FIRST_FREE;
    for (int file = FIRST_FREE; file < MOST_DESCRIPTORS; file++) {
        bool kept = file == result_pipe || file == wake_pipe;
        for (int i = 0; i < CHILD_KEEPS; i++) kept |= file == limits->keep[i];
        if (!kept) continue;
        system_close(from, file - 1);
        from = file + 1;
    }
    system_close(from, MOST_DESCRIPTORS - 1);
}

/* A copy of a pipe's end, high, so that a job that closes or writes low numbers does not meet it; not for
 * a program that follows. As high as the limit of open files lets it. */
static int moved_up(int end) {
    int copy = -1;
    for (int from = 200; copy < 0 && from >= FIRST_FREE; from /= 2) copy = fcntl(end, F_DUPFD_CLOEXEC, from);
    return copy;
}

static _Noreturn void live(const Child *c, const ChildLimits *limits, const int result[2],
                           const int printed[2], void (*job)(void *context, long i), void *context) {
    setpgid(0, 0);
    system_end_with_parent();
    interrupt_leave();
    int nothing = open("/dev/null", O_RDONLY);
    if (nothing >= 0) dup2(nothing, STDIN_FILENO);
    dup2(printed[1], STDOUT_FILENO);
    dup2(printed[1], STDERR_FILENO);
    result_pipe = moved_up(result[1]);
    if (c->wake[0] >= 0) wake_pipe = moved_up(c->wake[0]);
    close_others(limits);
    set_limits(limits);
    job(context, c->job);
    child_finish();
}

/* A pipe that a program which follows does not inherit. */
static bool open_pipe(int end[2]) {
    if (pipe(end) != 0) return false;
    if (fcntl(end[0], F_SETFD, FD_CLOEXEC) == 0 && fcntl(end[1], F_SETFD, FD_CLOEXEC) == 0) return true;
    close(end[0]), close(end[1]);
    return false;
}

/* The child whose job and wake are set. */
static bool bear(Child *c, const ChildLimits *limits, void (*job)(void *context, long i), void *context) {
    int result[2], printed[2];
    c->pid = c->result = c->printed = -1;
    c->seconds = limits->seconds;
    if (!open_pipe(result)) return false;
    if (!open_pipe(printed)) {
        close(result[0]), close(result[1]);
        return false;
    }
    fflush(NULL); /* or the child prints what the parent has buffered */
    c->pid = fork();
    if (c->pid == 0) live(c, limits, result, printed, job, context);
    close(result[1]), close(printed[1]);
    if (c->pid < 0) {
        close(result[0]), close(printed[0]);
        return false;
    }
    setpgid(c->pid, c->pid);
    c->result = result[0];
    c->printed = printed[0];
    c->deadline = clock_seconds() + 3 * limits->seconds;
    fcntl(c->result, F_SETFL, O_NONBLOCK);
    fcntl(c->printed, F_SETFL, O_NONBLOCK);
    return true;
}

static void keep_result(Child *c, const char *bytes, size_t size) {
    if (c->size + size >= c->capacity && !c->lost) {
        size_t capacity = 2 * (c->size + size) + 4096;
        char *grown = c->size + size < RESULT_LIMIT ? realloc(c->bytes, capacity) : NULL;
        if (grown)
            c->bytes = grown, c->capacity = capacity;
        else
            c->lost = true;
    }
    if (c->lost) return;
    memcpy(c->bytes + c->size, bytes, size);
    c->size += size;
}

static void keep_text(Child *c, const char *bytes, size_t size) {
    size_t room = CHILD_PRINTED - c->text_size, kept = size < room ? size : room;
    memcpy(c->text + c->text_size, bytes, kept);
    c->text_size += kept;
}

/* Reads all available bytes; closes the pipe at its end. */
static void drain(Child *c, int *pipe, void (*keep)(Child *c, const char *bytes, size_t size)) {
    char buffer[1 << 14];
    for (int reads = 0; *pipe >= 0 && reads < 64; reads++) {
        ssize_t n = read(*pipe, buffer, sizeof buffer);
        if (n > 0) {
            keep(c, buffer, (size_t)n);
        } else if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
            close(*pipe);
            *pipe = -1;
        } else {
            break;
        }
    }
}

/* Ends the process group of a child that has ended, and reads the rest of its output. */
static ChildEnd bury(Child *c, int status) {
    kill(-c->pid, SIGKILL);
    c->ended = true;
    drain(c, &c->result, keep_result);
    drain(c, &c->printed, keep_text);
    if (c->result >= 0) close(c->result);
    if (c->printed >= 0) close(c->printed);
    ChildEnd end = {.result = "", .printed = c->text};
    bool whole = c->size && !c->lost && c->bytes[c->size - 1] == end_mark;
    if (c->interrupted)
        end.fate = CHILD_INTERRUPTED;
    else if (c->timed_out || (WIFSIGNALED(status) && WTERMSIG(status) == SIGXCPU))
        end.fate = CHILD_TIMED_OUT;
    else if (WIFSIGNALED(status))
        end.fate = CHILD_SIGNALLED, end.number = WTERMSIG(status);
    else if (!whole || WEXITSTATUS(status))
        end.fate = CHILD_EXITED, end.number = WEXITSTATUS(status);
    if (c->size) {
        end.result = c->bytes;
        end.size = c->size - (end.fate == CHILD_DONE);
        c->bytes[end.size] = 0;
    }
    return end;
}

/* Processor time of all children that were waited for. */
static double seconds_of_dead_children(void) {
    struct rusage all;
    if (getrusage(RUSAGE_CHILDREN, &all) != 0) return 0;
    return (double)(all.ru_utime.tv_sec + all.ru_stime.tv_sec) +
           1e-6 * (double)(all.ru_utime.tv_usec + all.ru_stime.tv_usec);
}

bool child_lives(Child *c, ChildEnd *end) {
    int status;
    drain(c, &c->result, keep_result);
    drain(c, &c->printed, keep_text);
    bool late = clock_seconds() > c->deadline, interrupted = interrupt_signal() != 0;
    if ((late && !c->timed_out) || (interrupted && !c->interrupted)) {
        c->timed_out = late, c->interrupted = interrupted;
        kill(-c->pid, SIGKILL);
        kill(c->pid, SIGKILL);
    }
    double before = seconds_of_dead_children();
    if (waitpid(c->pid, &status, WNOHANG) != c->pid) return true;
    double used = seconds_of_dead_children() - before;
    /* The system kills a process that runs past the limit of set_limits. A kill before that has another
     * reason. */
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) c->timed_out |= used >= ceil(c->seconds);
    *end = bury(c, status);
    return false;
}

Child *child_start(const ChildLimits *limits, void (*job)(void *context, long i), void *context) {
    Child *c = calloc(1, sizeof *c);
    if (c && open_pipe(c->wake)) {
        if (bear(c, limits, job, context)) return c;
        close(c->wake[0]), close(c->wake[1]);
    }
    free(c);
    return NULL;
}

void child_wake(Child *c) {
    (void)!write(c->wake[1], "", 1);
}

void child_watch(Child *c) {
    char sign[64];
    poll(&(struct pollfd){c->result, POLLIN, 0}, 1, c->result < 0 ? MOMENT : GLANCE);
    if (c->result >= 0) (void)!read(c->result, sign, sizeof sign); /* its end is child_lives' to see */
    c->size = 0;
}

void child_stop(Child *c) {
    int status;
    if (!c->ended) {
        kill(-c->pid, SIGKILL);
        kill(c->pid, SIGKILL);
        waitpid(c->pid, &status, 0);
        bury(c, status);
    }
    close(c->wake[0]), close(c->wake[1]);
    free(c->bytes);
    free(c);
}

static void wait_for_news(Child *child, int children) {
    struct pollfd fd[2 * AT_ONCE];
    nfds_t count = 0;
    double soonest = INFINITY;
    bool silent = false;
    for (int i = 0; i < children; i++) {
        if (child[i].result >= 0) fd[count++] = (struct pollfd){child[i].result, POLLIN, 0};
        if (child[i].printed >= 0) fd[count++] = (struct pollfd){child[i].printed, POLLIN, 0};
        silent |= child[i].result < 0;
        soonest = fmin(soonest, child[i].deadline);
    }
    /* A child whose pipe is closed dies soon, without a sign; one that closed it itself may live on. */
    double seconds = fmin(fmax(soonest - clock_seconds(), 0), silent ? 0.002 : 0.25);
    poll(fd, count, (int)ceil(seconds * 1000));
}

void child_run_all(long jobs, int at_once, const ChildLimits *limits, void (*job)(void *context, long i),
                   void (*done)(void *context, long i, const ChildEnd *end), void *context) {
    Child *child = calloc(AT_ONCE, sizeof *child);
    int living = 0;
    if (at_once > AT_ONCE) at_once = AT_ONCE;
    for (long next = 0; next < jobs || living;) {
        while (next < jobs && living < at_once) {
            if (interrupt_signal()) {
                done(context, next++, &(ChildEnd){.fate = CHILD_INTERRUPTED, .result = "", .printed = ""});
                continue;
            }
            if (child) child[living] = (Child){.job = next, .wake = {-1, -1}};
            if (child && bear(&child[living], limits, job, context))
                living++;
            else if (living)
                break; /* later there may be room */
            else
                done(context, next, &(ChildEnd){.fate = CHILD_NOT_BORN, .result = "", .printed = ""});
            if (!living || child[living - 1].job == next) next++;
        }
        if (!living) continue;
        wait_for_news(child, living);
        for (int i = 0; i < living;) {
            ChildEnd end;
            if (child_lives(&child[i], &end)) {
                i++;
                continue;
            }
            done(context, child[i].job, &end);
            free(child[i].bytes);
            child[i] = child[--living];
        }
    }
    free(child);
}

const char *child_text(char text[CHILD_TEXT], const ChildEnd *end, const ChildLimits *limits) {
    text[0] = 0;
    switch (end->fate) {
    case CHILD_DONE: break;
    case CHILD_EXITED:
        if (end->number == STATUS_IO)
            snprintf(text, CHILD_TEXT,
                     "could not send its report: it closed a descriptor that is not its own");
        else
            snprintf(text, CHILD_TEXT, "called exit(%d) before it was done", end->number);
        break;
    case CHILD_SIGNALLED:
        snprintf(text, CHILD_TEXT, "crashed: signal %d (%s)", end->number, strsignal(end->number));
        break;
    case CHILD_TIMED_OUT:
        snprintf(text, CHILD_TEXT, "did not end within its time limit of %g s", limits->seconds);
        break;
    case CHILD_INTERRUPTED: snprintf(text, CHILD_TEXT, "was not waited for: the run was asked to end"); break;
    case CHILD_NOT_BORN:
        snprintf(text, CHILD_TEXT, "could not be run: no process or no memory for it");
        break;
    }
    return text;
}

const char *child_last_line(char *text, size_t size, const char *printed) {
    *text = 0;
    for (const char *line = printed; *line;) {
        size_t length = strcspn(line, "\n");
        if (length) snprintf(text, size, "%.*s", (int)length, line);
        line += length + (line[length] == '\n');
    }
    return text;
}

void utf8_make_printable(char *text) {
    for (uint32_t character; *text;) {
        int bytes = utf8_decode(text, strlen(text), &character);
        if (bytes && character >= ' ' && (character < 0x7F || character > 0x9F))
            text += bytes;
        else
            *text++ = '?';
    }
}
