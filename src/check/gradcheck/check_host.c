#include "check/gradcheck/check_host.h"
#include "base/system.h"
#include "check/gradcheck/check_batch.h"
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Limits of the shared memory: numbers of an output, and bytes for the blocks of points. */
enum { MOST_OUTPUTS = BATCH_OUTPUTS, BLOCKS = 1 << 27 };

typedef enum Command { FORWARD, BACKWARD, BATCH, PAIR } Command;

/* The messages between the two processes. */
typedef struct Desk {
    atomic_long asked, answered; /* commands so far */
    Command command;

    /* Written by the judge. */
    bool guard, keep, relayed;
    long first;
    CheckPoint point[2];
    real dy[2][MOST_OUTPUTS];
    CheckBatch batch; /* its arrays are those below, at the same address in both processes */
    CheckChange change[BATCH_CHANGES];
    long end[BATCH_RUNS];

    /* Written by the host. */
    Shape shape;
    bool wants_grad, untouched;
    long nodes;
    uint64_t branches, branches_of[BATCH_RUNS];
    real y[MOST_OUTPUTS];        /* the output, or those of all runs of a batch */
    real dy_after[MOST_OUTPUTS]; /* the gradient of the output after backward */
    real grad[BATCH_GRADIENTS];  /* of the inputs, in a batch */
} Desk;

struct CheckHost {
    Desk *desk;
    CheckMemory memory;
    Child *child;
    void (*lost)(void *context, const ChildEnd *end, const CheckRun *r);
    const CheckCase *(*load)(void *context);
    void *context;
    long asked;                                  /* commands so far */
    Tensor y;                                    /* the judge's copy of the last output */
    real data[MOST_OUTPUTS], grad[MOST_OUTPUTS]; /* of y */
};

/* ---- The host's side ---- */

static void tell_output(Desk *d, const CheckRun *r) {
    long count = shape_count(r->y->shape);
    if (count > MOST_OUTPUTS) error_bug("an output of %ld elements is too large to be checked", count);
    d->shape = r->y->shape;
    d->wants_grad = tensor_wants_grad(r->y), d->untouched = r->untouched;
    d->nodes = r->nodes, d->branches = r->branches;
    tensor_copy_out(r->y, d->y);
    if (d->command == BACKWARD && r->keep && r->y->grad)
        memcpy(d->dy_after, r->y->grad, (size_t)count * sizeof(real));
}

/* Executes a command with the host's copies of the points. */
static void answer(Desk *d, CheckRun *r, CheckPoint point[2]) {
    r->guard = d->guard, r->keep = d->keep, r->relayed = d->relayed, r->first = d->first;
    if (d->command != BACKWARD) point_copy(&point[0], &d->point[0]);
    switch (d->command) {
    case FORWARD:
        check_run_forward(r);
        tell_output(d, r);
        break;
    case BACKWARD:
        check_run_backward(r, d->dy[0]);
        tell_output(d, r);
        break;
    case BATCH:
        d->batch.run = r;
        check_batch_run_here(&d->batch);
        d->nodes = r->nodes;
        break;
    case PAIR:
        point_copy(&point[1], &d->point[1]);
        check_run_pair(r, &point[1], d->dy[0], d->dy[1]);
        break;
    }
}

static void serve(void *context, long i) {
    CheckHost *h = context;
    Desk *d = h->desk;
    CheckPoint point[2];
    CheckRun r = {.op = "operation", .c = h->load(h->context), .point = &point[0], .tape = tape_new()};
    (void)i;
    /* Drops output if the pipe is full. */
    fcntl(STDOUT_FILENO, F_SETFL, O_NONBLOCK);
    fcntl(STDERR_FILENO, F_SETFL, O_NONBLOCK);
    for (long number = 1;; number++) {
        while (atomic_load(&d->asked) < number) child_sleep();
        answer(d, &r, point);
        atomic_store(&d->answered, number);
        child_send("", 1);
    }
}

/* ---- The judge's side ---- */

CheckHost *check_host_start(const ChildLimits *limits, const CheckCase *(*load)(void *context),
                            void (*lost)(void *context, const ChildEnd *end, const CheckRun *r),
                            void *context) {
    CheckHost *h = calloc(1, sizeof *h);
    size_t bytes = (sizeof(Desk) + 63) / 64 * 64 + BLOCKS;
    void *shared = system_pages(bytes, true);
    if (!h || !shared) {
        free(h);
        return NULL;
    }
    h->desk = shared;
    h->memory = (CheckMemory){.at = (char *)shared + bytes - BLOCKS, .size = BLOCKS};
    h->load = load, h->lost = lost, h->context = context;
    h->child = child_start(0, limits, serve, h);
    if (h->child) return h;
    munmap(shared, bytes);
    free(h);
    return NULL;
}

void check_host_stop(CheckHost *h) {
    child_stop(h->child);
    munmap(h->desk, (size_t)(h->memory.at + h->memory.size - (char *)h->desk));
    free(h);
}

CheckMemory *check_host_memory(CheckHost *h) {
    return &h->memory;
}

/* The host may write anything into the desk at any time: each value is read once, and then judged. */
static bool told_bool(const bool *at) {
    return *(const volatile unsigned char *)at != 0;
}

/* The number of runs that a lost host has done of its batch. */
static long runs_done(const Desk *d) {
    long done = *(const volatile long *)&d->batch.done;
    return done < 0 ? 0 : done < BATCH_RUNS ? done : BATCH_RUNS;
}

/* Sends a command and waits for its answer while the host lives. */
static void ask(CheckRun *r, Command command) {
    CheckHost *h = r->host;
    Desk *d = h->desk;
    d->command = command;
    d->guard = r->guard, d->keep = r->keep, d->relayed = r->relayed, d->first = r->first;
    long number = ++h->asked;
    atomic_store(&d->asked, number);
    child_wake(h->child);
    while (atomic_load(&d->answered) < number) {
        ChildEnd end;
        child_watch(h->child);
        if (atomic_load(&d->answered) >= number || child_lives(h->child, &end)) continue;
        if (command == BATCH) r->evaluations += runs_done(d);
        h->lost(h->context, &end, r);
    }
}

/* Copies the host's output after checking its sizes. */
static void take_output(CheckRun *r) {
    CheckHost *h = r->host;
    const Desk *d = h->desk;
    Shape s = *(const volatile Shape *)&d->shape;
    long count;
    if (s.rank < 0 || s.rank > MAX_RANK || !shape_fits(s.rank, s.size, sizeof(real), &count) ||
        count > MOST_OUTPUTS)
        error_bug("%s, case %s: the output has no shape", r->op, r->c->name);
    h->y = tensor_over(h->data, s);
    h->y.grad = h->grad;
    h->y.grad_state = told_bool(&d->wants_grad) ? GRAD_SUM : GRAD_UNWANTED;
    memcpy(h->data, d->y, (size_t)count * sizeof(real));
    memcpy(h->grad, d->dy_after, (size_t)count * sizeof(real));
    r->y = &h->y;
    r->nodes = d->nodes, r->branches = d->branches, r->untouched = told_bool(&d->untouched);
}

Tensor *check_host_forward(CheckRun *r) {
    r->host->desk->point[0] = *r->point;
    ask(r, FORWARD);
    take_output(r);
    return r->y;
}

void check_host_backward(CheckRun *r, const real *dy) {
    memcpy(r->host->desk->dy[0], dy, (size_t)shape_count(r->y->shape) * sizeof(real));
    ask(r, BACKWARD);
    take_output(r);
}

void check_host_batch(CheckBatch *b) {
    CheckRun *r = b->run;
    Desk *d = r->host->desk;
    long runs = b->asked - b->done;
    d->point[0] = *r->point;
    d->batch = (CheckBatch){.outputs = b->outputs,
                            .gradients = b->gradients,
                            .asked = runs,
                            .change = d->change,
                            .end = d->end,
                            .dy = b->dy ? d->dy[0] : NULL,
                            .fill = b->fill,
                            .y = d->y,
                            .grad = d->grad,
                            .branches = d->branches_of};
    memcpy(d->change, b->change, (size_t)b->changes * sizeof *b->change);
    memcpy(d->end, b->end + b->done, (size_t)runs * sizeof *b->end);
    if (b->dy) memcpy(d->dy[0], b->dy + b->done * b->outputs, (size_t)(runs * b->outputs) * sizeof *b->dy);
    r->evaluations++; /* the first, as long as no other is known to be done */
    ask(r, BATCH);
    r->evaluations += runs - 1;
    r->nodes = d->nodes;
    memcpy(b->y + b->done * b->outputs, d->y, (size_t)(runs * b->outputs) * sizeof *b->y);
    if (b->dy)
        memcpy(b->grad + b->done * b->gradients, d->grad, (size_t)(runs * b->gradients) * sizeof *b->grad);
    memcpy(b->branches + b->done, d->branches_of, (size_t)runs * sizeof *b->branches);
    b->done = b->asked;
    b->changes = 0;
}

void check_host_pair(CheckRun *r, const CheckPoint *other, const real *dy, const real *other_dy) {
    size_t bytes = (size_t)shape_count(r->y->shape) * sizeof(real);
    Desk *d = r->host->desk;
    d->point[0] = *r->point, d->point[1] = *other;
    memcpy(d->dy[0], dy, bytes);
    memcpy(d->dy[1], other_dy, bytes);
    ask(r, PAIR);
}
