/* Jobs in child processes: whatever a job does, its end and its output so far are known. */
#include "base/clock.h"
#include "base/interrupt.h"
#include "base/utf8.h"
#include "check/child.h"
#include "test.h"
#include <errno.h>
#include <sys/resource.h>

/* ---- Jobs ---- */

#define JOB(name, statements)                                                                      \
    static void name(void *context, long i) {                                                      \
        (void)context, (void)i;                                                                    \
        statements;                                                                                \
    }

JOB(says, printf("job %ld\nspeaks\n\n", i); child_send("abc", 3))
JOB(says_nothing, )
JOB(exits, child_send("abc", 3);
    exit(i == 0 ? 7 : 0)) /* that it came to no end is seen even then */
JOB(crashes, signal(SIGSEGV, SIG_DFL); raise(SIGSEGV)) /* a sanitizer handles it */
JOB(is_killed, raise(SIGKILL))
JOB(sleeps, child_send("abc", 3); for (;;) sleep(1))
JOB(closes_all, for (int fd = 0; fd < 1024; fd++) close(fd))
JOB(talks, for (int n = 0; n < CHILD_PRINTED; n++) printf("%d\n", n))
JOB(reads, char byte; child_send(read(STDIN_FILENO, &byte, 1) == 0 ? "end" : "...", 3))
JOB(asks_later, kill(getppid(), SIGTERM); for (;;) sleep(1))

/* More than a pipe holds, and than is kept of a result: the size that *context says. */
static void sends_much(void *context, long i) {
    (void)i;
    enum { BLOCK = 1 << 20 };
    char *block = calloc(1, BLOCK);
    for (long sent = 0; sent < *(long *)context; sent += BLOCK) child_send(block, BLOCK);
}

/* ---- Ends ---- */

typedef struct Ends {
    int count, fate[8], number[8];
    size_t size[8];
    char result[8][16], printed[8][CHILD_PRINTED + 1], text[8][CHILD_TEXT];
    const ChildLimits *limits;
} Ends;

static void take(void *context, long i, const ChildEnd *end) {
    Ends *e = context;
    e->count++;
    e->fate[i] = (int)end->fate, e->number[i] = end->number, e->size[i] = end->size;
    snprintf(e->result[i], sizeof e->result[i], "%s", end->result);
    snprintf(e->printed[i], sizeof e->printed[i], "%s", end->printed);
    child_text(e->text[i], end, e->limits);
}

typedef struct Both {
    Ends ends;
    void (*job)(void *context, long i);
    void *context;
} Both;

static void run_job(void *context, long i) {
    const Both *b = context;
    b->job(b->context, i);
}

static Ends run(long jobs, int at_once, double seconds, void (*job)(void *context, long i),
                void *context) {
    ChildLimits limits = {.seconds = seconds};
    Both b = {.ends.limits = &limits, .job = job, .context = context};
    child_run_all(jobs, at_once, &limits, run_job, take, &b);
    b.ends.limits = NULL;
    CHECK(b.ends.count == jobs, "%d of %ld jobs ended", b.ends.count, jobs);
    return b.ends;
}

TEST(every_end_is_known) {
    long little = 3 << 20, too_much = 160L << 20;
    const struct {
        const char *name;
        void (*job)(void *context, long i);
        void *context;
        double seconds;
        ChildFate fate;
        int number;
        const char *result, *text;
    } cases[] = {
        {"says", says, NULL, 60, CHILD_DONE, 0, "abc", ""},
        {"says nothing", says_nothing, NULL, 60, CHILD_DONE, 0, "", ""},
        {"reads", reads, NULL, 60, CHILD_DONE, 0, "end", ""},
        {"exits", exits, NULL, 60, CHILD_EXITED, 7, "abc", "called exit(7) before it was done"},
        {"crashes", crashes, NULL, 60, CHILD_SIGNALLED, SIGSEGV, "",
         "crashed: signal 11 (Segmentation fault)"},
        {"is killed", is_killed, NULL, 60, CHILD_SIGNALLED, SIGKILL, "",
         "crashed: signal 9 (Killed)"},
        {"is killed in a moment", is_killed, NULL, 0.5, CHILD_SIGNALLED, SIGKILL, "",
         "crashed: signal 9 (Killed)"},
        {"sleeps", sleeps, NULL, 0.02, CHILD_TIMED_OUT, 0, "abc",
         "did not end within its time limit of 0.02 s"},
        {"closes all", closes_all, NULL, 60, CHILD_EXITED, STATUS_IO, "",
         "could not send its report: it closed a descriptor that is not its own"},
        {"talks", talks, NULL, 60, CHILD_DONE, 0, "", ""},
        {"sends", sends_much, &little, 60, CHILD_DONE, 0, "", ""},
        {"sends too much", sends_much, &too_much, 60, CHILD_EXITED, 0, "",
         "called exit(0) before it was done"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Ends e = run(1, 1, cases[i].seconds * PATIENCE, cases[i].job, cases[i].context);
        char text[CHILD_TEXT];
        snprintf(text, sizeof text, "%s", cases[i].text);
        if (cases[i].fate == CHILD_TIMED_OUT)
            snprintf(text, sizeof text, "did not end within its time limit of %g s",
                     cases[i].seconds * PATIENCE);
        CHECK(e.fate[0] == (int)cases[i].fate && e.number[0] == cases[i].number,
              "%s: fate %d, number %d", cases[i].name, e.fate[0], e.number[0]);
        CHECK(!strcmp(e.result[0], cases[i].result), "%s: result '%s'", cases[i].name, e.result[0]);
        CHECK(!strcmp(e.text[0], text), "%s: '%s'", cases[i].name, e.text[0]);
        if (cases[i].context == &little) CHECK(e.size[0] == (size_t)little, "%zu bytes", e.size[0]);
        if (cases[i].job == talks)
            CHECK(strlen(e.printed[0]) == CHILD_PRINTED, "%zu", strlen(e.printed[0]));
    }
}

/* Jobs run in any order, each with its own output and result. No more run at once than may. */
TEST(each_has_its_own) {
    Ends e = run(8, 1000, 60, says, NULL);
    for (int i = 0; i < 8; i++) {
        char want[32], line[32];
        snprintf(want, sizeof want, "job %d\nspeaks\n\n", i);
        CHECK(!strcmp(e.printed[i], want) && !strcmp(e.result[i], "abc"), "job %d: %s", i,
              e.printed[i]);
        CHECK(!strcmp(child_last_line(line, sizeof line, e.printed[i]), "speaks"), "%s", line);
    }
    CHECK(e.fate[7] == CHILD_DONE);
    e = run(2, 2, 60, exits, NULL);
    CHECK(e.fate[1] == CHILD_EXITED && e.number[1] == 0, "an exit(0) passes for an end");
    run(0, 2, 60, says, NULL);
}

/* If the system has no pipe for a child, the job ends as not born, and the next job is tried. */
TEST(none_is_born) {
    struct rlimit before, limit;
    CHECK(getrlimit(RLIMIT_NOFILE, &before) == 0);
    for (int room = 0; room < 4; room++) {
        int next = dup(STDIN_FILENO);
        close(next);
        limit = before, limit.rlim_cur = (rlim_t)(next + room);
        CHECK(setrlimit(RLIMIT_NOFILE, &limit) == 0);
        Ends e = run(2, 2, 60, says, NULL);
        Child *c = child_start(0, &(ChildLimits){.seconds = 60}, says, NULL);
        CHECK(setrlimit(RLIMIT_NOFILE, &before) == 0);
        CHECK(!c && e.fate[0] == CHILD_NOT_BORN && e.fate[1] == CHILD_NOT_BORN,
              "room for %d: fates %d %d", room, e.fate[0], e.fate[1]);
        CHECK(!strcmp(e.text[0], "could not be run: no process or no memory for it"), "%s",
              e.text[0]);
    }
    CHECK(run(2, 2, 60, says, NULL).fate[1] == CHILD_DONE);
}

/* A small limit of open files is no fault of a job's. */
TEST(few_files_are_enough) {
    struct rlimit before, limit;
    CHECK(getrlimit(RLIMIT_NOFILE, &before) == 0);
    limit = before, limit.rlim_cur = 64;
    CHECK(setrlimit(RLIMIT_NOFILE, &limit) == 0);
    Ends e = run(2, 2, 60, says, NULL);
    CHECK(setrlimit(RLIMIT_NOFILE, &before) == 0);
    CHECK(e.fate[0] == CHILD_DONE && e.fate[1] == CHILD_DONE, "%s", e.text[0]);
}

/* A program that is asked to end waits for no child and starts none. */
TEST(asked_to_end) {
    interrupt_heed();
    raise(SIGTERM);
    Ends e = run(3, 2, 60, sleeps, NULL);
    for (int i = 0; i < 3; i++)
        CHECK(e.fate[i] == CHILD_INTERRUPTED &&
                  !strcmp(e.text[i], "was not waited for: the run was asked to end"),
              "job %d: %s", i, e.text[i]);
}

TEST(asked_meanwhile) {
    interrupt_heed();
    Ends e = run(3, 1, 60, asks_later, NULL);
    for (int i = 0; i < 3; i++) CHECK(e.fate[i] == CHILD_INTERRUPTED, "job %d: %s", i, e.text[i]);
}

/* ---- One that is talked to ---- */

/* Says back what it is told, until that is "end". */
static void answers(void *context, long i) {
    char said[3];
    Child *parent = child_parent();
    ChildEnd end;
    (void)context, (void)i;
    while (child_hear(parent, said, 3, &end) == 3 && memcmp(said, "end", 3) != 0)
        child_send(said, sizeof said);
    _exit(7);
}

TEST(a_child_is_talked_to) {
    enum { PATIENT = 30 };
    ChildLimits limits = {.seconds = PATIENT};
    Child *c = child_start(0, &limits, answers, NULL);
    ChildEnd end = {0};
    char said[4] = "";
    CHECK(c != NULL);
    for (int n = 0; c && n < 3; n++) {
        CHECK(child_tell(c, "abc", 3, &end) && child_hear(c, said, 3, &end) && !strcmp(said, "abc"),
              "%s", said);
    }
    CHECK(c && child_tell(c, "end", 3, &end) && !child_hear(c, said, 3, &end));
    CHECK(end.fate == CHILD_EXITED && end.number == 7, "fate %d, number %d", end.fate, end.number);
    if (c) child_stop(c);

    /* child_stop ends a child that still runs. */
    c = child_start(0, &limits, answers, NULL);
    CHECK(c);
    double began = clock_seconds();
    if (c) child_stop(c);
    CHECK(clock_seconds() - began < PATIENT / 2.0);
    CHECK(waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD, "a child is left");
}

/* A child that has no reason to sleep has a third of the time. */
TEST(sleeping_is_no_way_to_gain_time) {
    ChildLimits limits = {.seconds = 1, .awake = true};
    Child *c = child_start(0, &limits, sleeps, NULL);
    ChildEnd end = {0};
    char said[4];
    double began = clock_seconds();
    CHECK(c && child_hear(c, said, 3, &end) && !child_hear(c, said, 3, &end),
          "it sends more than abc");
    CHECK(end.fate == CHILD_TIMED_OUT && clock_seconds() - began < 2.5, "fate %d after %.1f s",
          end.fate, clock_seconds() - began);
    if (c) child_stop(c);
}

RUN_TESTS
