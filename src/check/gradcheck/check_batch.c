#include "check/gradcheck/check_batch.h"
#include "base/clock.h"
#include <string.h>

/* Numbers of the results of backward that are kept at once. */
enum { BACKWARD_ROOM = 1 << 18 };

void check_batch_open(CheckBatch *b, CheckRun *run, Arena *arena, long outputs, long runs, long changes) {
    if (changes > JOB_CHANGES) error_bug("an input of %ld elements is too large to be checked", changes);
    *b = (CheckBatch){.run = run, .outputs = outputs, .most = runs, .room = changes};
    b->change = arena_alloc(arena, (size_t)changes * sizeof *b->change);
    b->start = arena_alloc(arena, (size_t)(runs + 1) * sizeof *b->start);
    b->y = arena_alloc(arena, (size_t)(runs * outputs) * sizeof *b->y);
    b->branches = arena_alloc(arena, (size_t)runs * sizeof *b->branches);
}

void check_batch_open_backward(CheckBatch *b, CheckRun *run, Arena *arena, long outputs, long runs) {
    long gradients = point_gradients_before(run->point, run->point->inputs);
    long most = BACKWARD_ROOM / (1 + outputs + gradients);
    if (most > runs) most = runs;
    if (most < 1) most = 1;
    check_batch_open(b, run, arena, outputs, most, 0);
    b->gradients = gradients;
    b->grad = arena_alloc(arena, (size_t)(most * gradients) * sizeof *b->grad);
}

void check_batch_begin(CheckBatch *b) {
    b->asked = b->done = b->changes = 0;
}

void check_batch_ask(CheckBatch *b, long changes) {
    long waiting = b->asked - b->done;
    bool full = waiting == JOB_RUNS || (waiting + 1) * b->outputs > JOB_OUTPUTS ||
                (waiting + 1) * b->gradients > JOB_GRADIENTS || b->changes + changes > b->room;
    if (waiting && full) check_batch_run(b);
    b->start[b->asked++] = b->changes;
    b->start[b->asked] = b->changes;
}

void check_batch_change(CheckBatch *b, int input, long element, double value) {
    b->change[b->changes++] = (JobChange){input, element, (double)(real)value};
    b->start[b->asked] = b->changes;
}

long check_batch_backward(CheckBatch *b, const real *dy, long count, real fill) {
    b->dy = dy, b->fill = fill;
    check_batch_begin(b);
    while (b->asked < count && b->asked < b->most) check_batch_ask(b, 0);
    check_batch_run(b);
    return b->asked;
}

/* Does the next runs, at most `most`, in one job. */
static void run_some(CheckBatch *b, long most) {
    CheckRun *r = b->run;
    Job job = {.runs = b->asked - b->done, .change = b->change, .start = b->start + b->done};
    if (job.runs > most) job.runs = most;
    if (b->changes == 0) job.start = NULL;
    if (b->dy) job.dy = b->dy + b->done * b->outputs;
    r->ways.fill = b->fill;
    check_run_job(r, job);
    check_run_has_outputs(r, b->outputs);
    memcpy(b->y + b->done * b->outputs, r->result.y, (size_t)(job.runs * b->outputs) * sizeof *b->y);
    memcpy(b->branches + b->done, r->result.branches, (size_t)job.runs * sizeof *b->branches);
    if (b->dy)
        memcpy(b->grad + b->done * b->gradients, r->result.grad,
               (size_t)(job.runs * b->gradients) * sizeof *b->grad);
    b->done += job.runs;
}

void check_batch_run(CheckBatch *b) {
    const double moment = 0.1; /* seconds */
    CheckRun *r = b->run;
    while (b->done < b->asked) {
        double began = clock_seconds();
        run_some(b, r->at_once ? r->at_once : JOB_RUNS);
        double seconds = clock_seconds() - began;
        if (seconds < moment && r->at_once < JOB_RUNS) r->at_once *= 2;
        if (seconds > 2 * moment && r->at_once > 1) r->at_once /= 2;
    }
    b->changes = 0;
}

const real *check_batch_output(const CheckBatch *b, long run) {
    return b->y + run * b->outputs;
}

real *check_batch_gradient(const CheckBatch *b, long run, int input) {
    return b->grad + run * b->gradients + point_gradients_before(b->run->point, input);
}
