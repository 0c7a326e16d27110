#include "grading/repair_children.h"
#include "base/clock.h"
#include "base/system.h"
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* Parts of the items, each the work of one process after the other; times that trials which are alike may end a process, and that
 * they may write where they should not; and what part of the seconds that a case may take all of them do. */
enum { SEGMENTS = 2, MOST_DEATHS = 20, MOST_HARM = 2 };
static const double share = 0.4;

static double seconds_of(const TrialWork *w) {
    return share * w->place->plan->limits.seconds;
}

/* Whether all is as it was: a trial may write where it should not. */
static bool is_sound(TrialRun *r) {
    const TrialPlace *p = r->place;
    const RepairTrial none = {0};
    return trial_run(r, &none) && memcmp(r->found, p->found, (size_t)p->gradients * sizeof *r->found) == 0;
}

/* From item `from` on, in a process of its own. It ends at the trial that does harm. */
static void run_from(const TrialWork *w, TrialRun *r, long segment, long from, long to, double until) {
    const rlim_t seconds = (rlim_t)seconds_of(w) + 1; /* whatever becomes of the timers */
    setrlimit(RLIMIT_CPU, &(struct rlimit){seconds, seconds});
    for (long k = from; k < to && clock_seconds() < until; k++) {
        w->at[segment] = k;
        w->run(w, r, k);
        w->at[segment] = k + 1;
        if (!is_sound(r)) break;
    }
    _exit(0);
}

static bool are_alike(const RepairTrial *a, const RepairTrial *b) {
    return a->piece && a->edit == b->edit && a->target == b->target;
}

/* What the trials of an edit need is computed for all of them, and so is the place of what is added: where that crashes, all do.
 * Returns the first behind them. */
static long behind_alike(const TrialWork *w, long from, long to) {
    const RepairTrial like = *w->trial(w, from);
    for (; from < to && are_alike(w->trial(w, from), &like); from++) w->drop(w, from);
    return from;
}

/* Trials that are alike and wrote where they should not, in a row. */
typedef struct Harm {
    RepairTrial last;
    int count;
} Harm;

/* Whether after the trial before item `at`, which did so, this is known of all that add something to the same. */
static bool is_harmful(const TrialWork *w, long at, Harm *h) {
    const RepairTrial *trial = w->trial(w, at - 1);
    h->count = are_alike(trial, &h->last) ? h->count + 1 : 1;
    h->last = *trial;
    return trial->target && h->count >= MOST_HARM && are_alike(trial, w->trial(w, at));
}

/* Waits for a child; one that was stopped is ended. */
static bool is_over(pid_t child) {
    int status;
    if (waitpid(child, &status, WUNTRACED) < 0) return false;
    return !WIFSTOPPED(status) || (kill(child, SIGKILL) == 0 && waitpid(child, NULL, 0) == child);
}

/* What crashes, ends or stays in one trial ends a process that was born for this. The next one begins with this trial, if it was
 * not the first: an earlier one may have done the harm. */
static void run_in_children(const TrialWork *w, TrialRun *r, long segment, long to) {
    const double until = clock_seconds() + seconds_of(w);
    long *at = &w->at[segment];
    RepairTrial last = {0};
    Harm harm = {.count = 0};
    int deaths = 0;
    for (long from = *at; from < to && clock_seconds() < until; from = *at) {
        pid_t child = fork();
        if (child == 0) run_from(w, r, segment, from, to, until);
        if (child < 0 || !is_over(child)) return;
        if (*at > from && *at < to && is_harmful(w, *at, &harm)) *at = behind_alike(w, *at, to);
        if (*at > from || (w->again && w->again(w, from))) continue;
        const RepairTrial *trial = w->trial(w, from);
        deaths = are_alike(trial, &last) ? deaths + 1 : 1;
        last = *trial;
        w->drop(w, from);
        *at = from + 1;
        if (deaths >= MOST_DEATHS) *at = behind_alike(w, from, to);
    }
}

static long end_of(const TrialWork *w, long segment) {
    return w->count * (segment + 1) / SEGMENTS;
}

static void run_segment(void *context, long i) {
    const TrialWork *w = context;
    TrialRun r;
    if (trial_run_open(&r, w->place)) run_in_children(w, &r, i, end_of(w, i));
}

/* What nobody came to. */
static void end_segment(void *context, long i, const ChildEnd *end) {
    const TrialWork *w = context;
    (void)end;
    for (long k = w->at[i] < 0 ? 0 : w->at[i]; k < end_of(w, i); k++) w->drop(w, k);
}

void trial_work(TrialWork *w, int at_once) {
    w->at = system_pages(SEGMENTS * sizeof *w->at, true);
    for (long i = 0; i < w->count && !w->at; i++) w->drop(w, i);
    if (!w->at) return;
    for (long i = 0; i < SEGMENTS; i++) w->at[i] = w->count * i / SEGMENTS;
    child_run_all(SEGMENTS, at_once, &w->place->plan->limits, run_segment, end_segment, w);
    munmap(w->at, SEGMENTS * sizeof *w->at);
}
