#include "grading/repair_run.h"
#include "base/clock.h"
#include "base/pool.h"
#include "gradcheck/check_entries.h"
#include "grading/student_op.h"
#include <math.h>
#include <string.h>
#include <sys/time.h>

/* Most numbers that the output and all gradients have together; the gradient's accuracy; seconds that a run may take, in times
 * of a plain one as well; and what is in gradients before backward. */
enum { MOST_NUMBERS = 4096 };
static const double accuracy = 1e-7, least_seconds = 0.004, most_times = 20;
static const real fill = (real)0.375;

static void open_run(TrialRun *r, const TrialPlace *p) {
    pool_set_threads(1); /* a child has no others */
    const CheckCase *c = plan_load_case(p->plan, p->item);
    *r = (TrialRun){.place = p, .run = {.op = p->item->op, .c = c, .point = &r->point, .tape = tape_new()}};
    CheckCase named = *c;
    named.name = p->item->name;
    for (int k = 0; k < CHECK_INPUTS; k++) named.in[k] = p->item->c.in[k];
    point_draw(&r->point, &r->arena, NULL, p->item->op, &named, p->seed, p->attempt);
}

static void run_forward(TrialRun *r) {
    point_ready(&r->point, fill);
    check_run_forward(&r->run);
}

/* All gradients, behind each other. */
static void take_gradients(const TrialRun *r, double *to) {
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
static void take_input(TrialRun *r, const Measured *m, const real *dy, int k, const double *found,
                       double *need) {
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
    TrialRun r;
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

bool trial_place_agrees(const TrialPlace *p, const double *found, long from, long to) {
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
        if (!trial_place_agrees(p, p->found, from, p->end[k])) p->wrong |= 1U << k;
    }
    return p->gradients > 0;
}

/* ---- A trial ---- */

bool trial_run_open(TrialRun *r, const TrialPlace *p) {
    open_run(r, p);
    r->set = student_symbol(p->plan->library, REPAIR_TRIAL);
    if (!r->set) return false;
    r->found = arena_alloc(&r->arena, (size_t)p->gradients * sizeof *r->found);
    r->y = arena_alloc(&r->arena, (size_t)p->outputs * sizeof *r->y);
    r->dy = p->dy;
    double start = clock_seconds();
    run_forward(r);
    check_run_backward(&r->run, r->dy);
    r->seconds = least_seconds + most_times * (clock_seconds() - start);
    return true;
}

/* Ends a process that stays in one run: computing, or waiting for what does not come. Most runs are far shorter than they may be,
 * and share the timers. */
static void set_timers(TrialRun *r) {
    double now = clock_seconds(), share = 0.25;
    if (r->armed > 0 && now - r->armed < share * r->seconds) return;
    r->armed = now;
    double seconds = (1 + share) * r->seconds;
    struct itimerval timer = {
        .it_value = {.tv_sec = (time_t)seconds, .tv_usec = (suseconds_t)(fmod(seconds, 1) * 1e6)}};
    setitimer(ITIMER_VIRTUAL, &timer, NULL);
    timer.it_value.tv_sec++;
    setitimer(ITIMER_REAL, &timer, NULL);
}

bool trial_run(TrialRun *r, const RepairTrial *trial) {
    const TrialPlace *p = r->place;
    *r->set = *trial;
    set_timers(r);
    run_forward(r);
    if (shape_count(r->run.y->shape) != p->outputs) return false;
    tensor_copy_out(r->run.y, r->y);
    check_run_backward(&r->run, r->dy);
    take_gradients(r, r->found);
    return memcmp(r->y, p->y, (size_t)p->outputs * sizeof *r->y) == 0;
}
