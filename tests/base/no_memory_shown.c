/* Out of memory in what takes long: an allocation at the beginning of an experiment of ./explain or of a measurement of
 * ./bench fails. It ends with STATUS_NO_MEMORY, or does without it and goes on; it never crashes.
 * Every seventh of them; with ALL in the environment each. */
#include "bench/bench.h"
#include "explain/explain.h"
#include "failing_memory.h"
#include "folder.h"
#include <fcntl.h>
#include <sys/time.h>

static const struct Subject {
    const char *name;
    Experiment *explain;
    bool (*bench)(const char *name, const BenchOptions *o, Error *e);
} subjects[] = {
    {"step", NULL, bench_step},           {"profile", NULL, bench_profile},
    {"decode", NULL, bench_decode},       {"gemm", NULL, bench_gemm},
    {"relevance", explain_relevance},     {"scaling", explain_scaling},
    {"kernels", explain_kernels},         {"scores", explain_scores},
    {"positions", explain_positions},     {"heads", explain_heads},
    {"teacher", explain_teacher},         {"tape", explain_tape},
    {"convolution", explain_convolution},
};
enum { SUBJECTS = sizeof subjects / sizeof *subjects, ALLOCATIONS = 80 };

/* How a subject ends whose Nth allocation fails, besides with a status. */
enum { ALL_DONE = 100, DONE_WITHOUT, GOES_ON, IS_LATE, CRASHED };

static void disarm(void) {
    setitimer(ITIMER_PROF, &(struct itimerval){{0}}, NULL);
}

/* What takes longer than a moment of the processor is ended by a signal. */
static _Noreturn void run(const struct Subject *s, long at) {
    enum { MOMENT = 20000 * PATIENCE };
    Error e = {0};
    setitimer(ITIMER_PROF, &(struct itimerval){.it_value.tv_usec = MOMENT}, NULL);
    atexit(disarm);
    int nothing = open("/dev/null", O_WRONLY);
    dup2(nothing, STDOUT_FILENO), dup2(nothing, STDERR_FILENO);
    /* Of what can be asked for without a case, all cases are, every second time. */
    const char *which = s->bench == bench_gemm || at % 2 == 0 ? NULL : "seed";
    fail_at(at, false);
    bool ok = s->explain ? s->explain(&(ExplainOptions){.seed = 1, .svg = "pictures.svg"}, &e)
                         : s->bench(which, &(BenchOptions){.seconds = 1e-6, .json = at % 3 == 0}, &e);
    bool met = heap.made >= at;
    fail_at(0, false);
    exit(!ok ? (int)e.status : met ? DONE_WITHOUT : ALL_DONE);
}

/* How it ended; met says whether it has been where the allocation fails. */
static int end_of(pid_t child, const volatile bool *met) {
    int status = -1;
    if (waitpid(child, &status, 0) == child && WIFEXITED(status)) return WEXITSTATUS(status);
    return !WIFSIGNALED(status) || WTERMSIG(status) != SIGPROF ? CRASHED : *met ? GOES_ON : IS_LATE;
}

TEST(beginnings_fail, 120) {
    make_folder();
    CHECK(chdir(folder) == 0);
    volatile bool *met = tell_failures();
    bool all = getenv("ALL") != NULL;
    for (int i = 0; met && i < SUBJECTS; i++) {
        int refused = 0, end = 0;
        for (long at = 1; at <= ALLOCATIONS && end != IS_LATE && end != ALL_DONE; at += all ? 1 : 7) {
            fflush(stdout);
            *met = false;
            pid_t child = fork();
            if (child == 0) run(&subjects[i], at);
            end = end_of(child, met);
            refused += end == STATUS_NO_MEMORY;
            CHECK(end == STATUS_NO_MEMORY || (end >= ALL_DONE && end != CRASHED),
                  "%s, allocation %ld: status %d", subjects[i].name, at, end);
        }
        CHECK(!all || refused >= 5, "%s: %d refused", subjects[i].name, refused);
    }
}

RUN_TESTS
