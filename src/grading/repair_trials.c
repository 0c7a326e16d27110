#include "grading/repair_trials.h"
#include "base/clock.h"
#include "base/pool.h"
#include "base/system.h"
#include "gradcheck/check_entries.h"
#include "grading/student_op.h"
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

/* Most numbers that the output and all gradients have together; the gradient's accuracy; seconds that a trial may take, in
 * times of a plain run as well, and all of them; and what is in gradients before backward. */
enum { MOST_NUMBERS = 4096, SEGMENTS = 2 };
static const double accuracy = 1e-7, least_seconds = 0.004, most_times = 20, all_seconds = 4;
static const real fill = (real)0.375;

/* A run of the place's case in this process. */
typedef struct Run {
    Arena arena;
    CheckPoint point;
    CheckRun run;
} Run;

static void open_run(Run *r, const TrialPlace *p) {
    pool_set_threads(1); /* a child has no others */
    const CheckCase *c = plan_load_case(p->plan, p->item);
    *r = (Run){.run = {.op = p->item->op, .c = c, .point = &r->point, .tape = tape_new()}};
    CheckCase named = *c;
    named.name = p->item->name;
    for (int k = 0; k < CHECK_INPUTS; k++) named.in[k] = p->item->c.in[k];
    point_draw(&r->point, &r->arena, NULL, p->item->op, &named, p->seed, p->attempt);
}

static void run_forward(Run *r) {
    point_ready(&r->point, fill);
    check_run_forward(&r->run);
}

/* All gradients, behind each other. */
static void take_gradients(const Run *r, double *to) {
    for (int k = 0; k < r->point.inputs; k++) {
        const PointInput *in = &r->point.in[k];
        for (long i = 0; point_has_gradient(&r->point, k) && i < in->count; i++)
            *to++ = (double)(in->tensor.grad[i] - fill);
    }
}

/* ---- What the gradient has to be ---- */

/* Sent by the process that measures. */
typedef struct Measured {
    long outputs, gradients;
    long end[CHECK_INPUTS];
} Measured;

/* Of input k, whose gradient is `found`: that is what a kink is seen by, where there is no derivative. */
static void take_input(Run *r, const Measured *m, const real *dy, int k, const double *found, double *need) {
    const PointInput *in = &r->point.in[k];
    Entries e = {
        .input = k, .cotangents = 1, .outputs = m->outputs, .coordinates = in->count, .cotangent = dy};
    e.entry = arena_alloc(&r->arena, (size_t)in->count * sizeof *e.entry);
    e.state = arena_alloc(&r->arena, (size_t)in->count * sizeof *e.state);
    e.doubt = arena_alloc(&r->arena, (size_t)in->count * sizeof *e.doubt);
    for (long i = 0; i < in->count; i++) e.entry[i].analytic = found[i];
    bool plain = in->repeats == 1;
    if (plain) check_entries(&r->run, &e);
    for (long i = 0; i < in->count; i++) {
        const Entry *entry = &e.entry[i];
        bool known = plain && entry->state != ENTRY_KINK && entry->state != ENTRY_UNCLEAR;
        known &= entry->estimate <= accuracy * fmax(1e-3, fabs(entry->numeric));
        need[i] = known ? entry->numeric : NAN;
    }
}

static void measure(void *context, long i) {
    const TrialPlace *p = context;
    Run r;
    Measured m = {0};
    (void)i;
    open_run(&r, p);
    run_forward(&r);
    const Tensor *y = r.run.y;
    m.outputs = shape_count(y->shape);
    for (int k = 0; k < r.point.inputs; k++) {
        m.gradients += point_has_gradient(&r.point, k) ? r.point.in[k].count : 0;
        for (int later = k; later < CHECK_INPUTS; later++) m.end[later] = m.gradients;
    }
    if (m.outputs + m.gradients > MOST_NUMBERS || !m.gradients || !tensor_wants_grad(y)) return;
    size_t outputs = (size_t)m.outputs, gradients = (size_t)m.gradients;
    real *dy = arena_alloc(&r.arena, 2 * outputs * sizeof *dy), *copy = dy + outputs;
    double *need = arena_alloc(&r.arena, 2 * gradients * sizeof *need), *found = need + gradients;
    check_run_cotangent(dy, m.outputs, p->seed, 0);
    tensor_copy_out(y, copy);
    check_run_backward(&r.run, dy);
    take_gradients(&r, found);
    for (int k = 0; k < r.point.inputs; k++) {
        long from = m.end[k] - r.point.in[k].count;
        if (point_has_gradient(&r.point, k)) take_input(&r, &m, dy, k, found + from, need + from);
    }
    child_send(&m, sizeof m);
    child_send(dy, 2 * outputs * sizeof *dy);
    child_send(need, 2 * gradients * sizeof *need);
}

/* Whether numbers [from, to) are as they have to be. */
static bool is_right(const TrialPlace *p, const double *found, long from, long to) {
    for (long i = from; i < to; i++)
        if (!isnan(p->need[i]) && !(fabs(found[i] - p->need[i]) <= p->allowed[i])) return false;
    return true;
}

static void take_measured(void *context, long i, const ChildEnd *end) {
    TrialPlace *p = context;
    Measured m;
    (void)i;
    if (end->fate != CHILD_DONE || end->size < sizeof m) return;
    memcpy(&m, end->result, sizeof m);
    size_t outputs = (size_t)m.outputs, gradients = (size_t)m.gradients;
    size_t bytes = sizeof m + 2 * outputs * sizeof(real) + 2 * gradients * sizeof(double);
    if (m.outputs < 0 || m.gradients < 0 || m.outputs + m.gradients > MOST_NUMBERS || end->size != bytes)
        return;
    memcpy(p->dy, end->result + sizeof m, 2 * outputs * sizeof(real));
    memcpy(p->need, end->result + sizeof m + 2 * outputs * sizeof(real), 2 * gradients * sizeof(double));
    p->y = p->dy + outputs, p->found = p->need + gradients;
    p->outputs = m.outputs, p->gradients = m.gradients;
    memcpy(p->end, m.end, sizeof m.end);
}

bool trial_place_measure(TrialPlace *p, Arena *arena) {
    p->dy = arena_alloc(arena, 2 * MOST_NUMBERS * sizeof *p->dy);
    p->need = arena_alloc(arena, 3 * MOST_NUMBERS * sizeof *p->need);
    p->gradients = 0;
    child_run_all(1, 1, &p->plan->limits, measure, take_measured, p);
    p->allowed = p->need + 2 * MOST_NUMBERS;
    for (long k = 0, from = 0; k < CHECK_INPUTS && p->gradients; from = p->end[k++]) {
        double largest = 0;
        if (p->end[k] < from || p->end[k] > p->gradients) return false;
        for (long i = from; i < p->end[k]; i++)
            if (!isnan(p->need[i])) largest = fmax(largest, fabs(p->need[i]));
        for (long i = from; i < p->end[k]; i++) p->allowed[i] = accuracy * fmax(largest, 1e-4);
        if (!is_right(p, p->found, from, p->end[k])) p->wrong |= 1U << k;
    }
    return p->gradients > 0;
}

/* ---- Trials ---- */

/* In memory that all processes share. */
typedef struct Shared {
    long at[SEGMENTS]; /* the trial that each segment is at */
    TrialResult trial[];
} Shared;

typedef struct Trials {
    const TrialPlace *place;
    long count;
    Shared *shared;
} Trials;

/* What a trial is in the process that runs it. */
typedef struct Trying {
    const TrialPlace *place;
    Run run;
    RepairTrial *set; /* in the library */
    double *found;
    real *y;
    double seconds; /* that a trial may take */
    double until;   /* when all of them end */
} Trying;

static bool try_once(Trying *t, const RepairTrial *trial) {
    const TrialPlace *p = t->place;
    *t->set = *trial;
    run_forward(&t->run);
    if (shape_count(t->run.run.y->shape) != p->outputs) return false;
    tensor_copy_out(t->run.run.y, t->y);
    check_run_backward(&t->run.run, p->dy);
    take_gradients(&t->run, t->found);
    return memcmp(t->y, p->y, (size_t)p->outputs * sizeof *t->y) == 0;
}

/* How much of what an amount of 1 changes would make numbers [from, to) right; NaN: none does. */
static double amount_for(const Trying *t, long from, long to) {
    const TrialPlace *p = t->place;
    double both = 0, square = 0;
    for (long i = from; i < to; i++) {
        double change = t->found[i] - p->found[i];
        if (isnan(p->need[i])) continue;
        both += change * (p->need[i] - p->found[i]), square += change * change;
    }
    double amount = both / square;
    for (long i = from; i < to && isfinite(amount); i++)
        if (!isnan(p->need[i]) &&
            !(fabs(p->found[i] + amount * (t->found[i] - p->found[i]) - p->need[i]) <= 10 * p->allowed[i]))
            amount = NAN;
    return amount;
}

/* The same for the first of the wrong gradients that any amount makes right. */
static double find_amount(const Trying *t) {
    const TrialPlace *p = t->place;
    double amount = NAN;
    for (long k = 0, from = 0; k < CHECK_INPUTS && isnan(amount); from = p->end[k++])
        if (p->wrong >> k & 1) amount = amount_for(t, from, p->end[k]);
    /* Anything but a small fraction is a number in disguise. */
    for (int below = 1; below <= 12 && isfinite(amount); below++) {
        double nearest = round(amount * below) / below;
        if (nearest != 0 && fabs(amount - nearest) <= 1e-6 * fabs(nearest)) return nearest;
    }
    return NAN;
}

/* What the trial still mends; 0 where it makes something wrong. */
static unsigned judge(const TrialPlace *p, const double *found, unsigned mended) {
    for (long k = 0, from = 0; k < CHECK_INPUTS; from = p->end[k++]) {
        bool right = is_right(p, found, from, p->end[k]), wrong = p->wrong >> k & 1;
        if (!right && !wrong) return 0;
        if (!right) mended &= ~(1U << k);
    }
    return mended;
}

static void try_one(Trying *t, TrialResult *r) {
    bool same = try_once(t, &r->trial);
    if (same && r->open) {
        r->open = false;
        r->trial.amount = find_amount(t);
        same = isfinite(r->trial.amount) && try_once(t, &r->trial);
    }
    r->mended = same ? judge(t->place, t->found, r->mended) : 0;
}

/* Ends a process that stays in one trial: computing, or waiting for what does not come. */
static void set_timers(double seconds) {
    struct itimerval timer = {
        .it_value = {.tv_sec = (time_t)seconds, .tv_usec = (suseconds_t)(fmod(seconds, 1) * 1e6)}};
    setitimer(ITIMER_VIRTUAL, &timer, NULL);
    timer.it_value.tv_sec++;
    setitimer(ITIMER_REAL, &timer, NULL);
}

/* Whether all is as it was: a trial may write where it should not. */
static bool is_sound(Trying *t) {
    const TrialPlace *p = t->place;
    const RepairTrial none = {0};
    return try_once(t, &none) && memcmp(t->found, p->found, (size_t)p->gradients * sizeof *t->found) == 0;
}

/* From trial `from` on, in a process of its own. It ends at the trial that does harm. */
static void try_from(Trying *t, const Trials *all, long segment, long from, long to) {
    const rlim_t seconds = (rlim_t)all_seconds + 1; /* whatever becomes of the timers */
    setrlimit(RLIMIT_CPU, &(struct rlimit){seconds, seconds});
    for (long k = from; k < to && clock_seconds() < t->until; k++) {
        all->shared->at[segment] = k;
        set_timers(t->seconds);
        try_one(t, &all->shared->trial[k]);
        all->shared->at[segment] = k + 1;
        if (!is_sound(t)) break;
    }
    _exit(0);
}

static bool are_alike(const RepairTrial *a, const RepairTrial *b) {
    return a->piece && a->edit == b->edit && a->target == b->target;
}

/* What the trials of an edit need is computed for all of them, and so is the place of what is added: where that crashes, all do.
 * Returns the first behind them. */
static long behind_alike(const Trials *all, long from, long to) {
    const RepairTrial like = all->shared->trial[from].trial;
    for (; from < to && are_alike(&all->shared->trial[from].trial, &like); from++)
        all->shared->trial[from].mended = 0;
    return from;
}

/* Waits for a child; one that was stopped is ended. */
static bool is_over(pid_t child) {
    int status;
    if (waitpid(child, &status, WUNTRACED) < 0) return false;
    return !WIFSTOPPED(status) || (kill(child, SIGKILL) == 0 && waitpid(child, NULL, 0) == child);
}

/* What crashes, ends or stays in one trial ends a process that was born for this. The next one begins with this trial, if it was
 * not the first: an earlier one may have done the harm. */
static void try_in_children(Trying *t, const Trials *all, long segment, long to) {
    const int most_deaths = 20;
    long *at = &all->shared->at[segment];
    RepairTrial last = {0};
    int deaths = 0;
    for (long from = *at; from < to && clock_seconds() < t->until; from = *at) {
        pid_t child = fork();
        if (child == 0) try_from(t, all, segment, from, to);
        if (child < 0 || !is_over(child)) return;
        if (*at > from) continue;
        TrialResult *r = &all->shared->trial[from];
        deaths = are_alike(&r->trial, &last) ? deaths + 1 : 1;
        last = r->trial;
        r->mended = 0;
        *at = from + 1;
        if (deaths >= most_deaths) *at = behind_alike(all, from, to);
    }
    for (long k = *at; k < to; k++) all->shared->trial[k].mended = 0;
}

static void try_segment(void *context, long i) {
    const Trials *all = context;
    const TrialPlace *p = all->place;
    Trying t = {.place = p};
    open_run(&t.run, p);
    t.set = student_symbol(p->plan->library, REPAIR_TRIAL);
    if (!t.set) return;
    t.found = arena_alloc(&t.run.arena, (size_t)p->gradients * sizeof *t.found);
    t.y = arena_alloc(&t.run.arena, (size_t)p->outputs * sizeof *t.y);
    double start = clock_seconds();
    run_forward(&t.run);
    check_run_backward(&t.run.run, p->dy);
    t.seconds = least_seconds + most_times * (clock_seconds() - start);
    t.until = start + all_seconds;
    try_in_children(&t, all, i, all->count * (i + 1) / SEGMENTS);
}

static void end_segment(void *context, long i, const ChildEnd *end) {
    const Trials *all = context;
    long to = all->count * (i + 1) / SEGMENTS, from = all->shared->at[i];
    if (end->fate != CHILD_DONE)
        for (long k = from < 0 ? 0 : from; k < to; k++) all->shared->trial[k].mended = 0;
}

long trials_run(const TrialPlace *p, TrialResult *trial, long count, int at_once) {
    size_t bytes = sizeof(Shared) + (size_t)count * sizeof *trial;
    Trials all = {.place = p, .count = count, .shared = system_pages(bytes, true)};
    long kept = 0;
    if (!all.shared) return 0;
    memcpy(all.shared->trial, trial, (size_t)count * sizeof *trial);
    for (long i = 0; i < SEGMENTS; i++) all.shared->at[i] = count * i / SEGMENTS;
    child_run_all(SEGMENTS, at_once, &p->plan->limits, try_segment, end_segment, &all);
    for (long i = 0; i < count; i++)
        if (all.shared->trial[i].mended) trial[kept++] = all.shared->trial[i];
    munmap(all.shared, bytes);
    return kept;
}
