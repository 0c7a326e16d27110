#include "check/gradcheck/check_batch.h"
#include <string.h>

/* Numbers of the results of backward that are kept at once. */
enum { BACKWARD_ROOM = 1 << 18 };

/* Numbers of the gradients of the inputs before this one. */
static long gradients_before(const CheckPoint *p, int input) {
    long sum = 0;
    for (int i = 0; i < input; i++)
        if (point_has_gradient(p, i)) sum += p->in[i].count;
    return sum;
}

void check_batch_open(CheckBatch *b, CheckRun *run, Arena *arena, long outputs, long runs, long changes) {
    if (changes > BATCH_CHANGES) error_bug("an input of %ld elements is too large to be checked", changes);
    *b = (CheckBatch){.run = run, .outputs = outputs, .most = runs, .room = changes};
    b->change = arena_alloc(arena, (size_t)changes * sizeof *b->change);
    b->end = arena_alloc(arena, (size_t)runs * sizeof *b->end);
    b->y = arena_alloc(arena, (size_t)(runs * outputs) * sizeof *b->y);
    b->branches = arena_alloc(arena, (size_t)runs * sizeof *b->branches);
}

void check_batch_open_backward(CheckBatch *b, CheckRun *run, Arena *arena, long outputs, long runs) {
    long gradients = gradients_before(run->point, run->point->inputs);
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
    bool full = waiting == BATCH_RUNS || (waiting + 1) * b->outputs > BATCH_OUTPUTS ||
                (waiting + 1) * b->gradients > BATCH_GRADIENTS || b->changes + changes > b->room;
    if (waiting && full) check_batch_run(b);
    b->end[b->asked++] = b->changes;
}

void check_batch_change(CheckBatch *b, real *at, real value) {
    b->change[b->changes++] = (CheckChange){at, value};
    b->end[b->asked - 1] = b->changes;
}

long check_batch_backward(CheckBatch *b, const real *dy, long count, real fill) {
    b->dy = dy, b->fill = fill;
    check_batch_begin(b);
    while (b->asked < count && b->asked < b->most) check_batch_ask(b, 0);
    check_batch_run(b);
    return b->asked;
}

/* Exchanges a number of the point and its value in a run. A second call undoes it. */
static void exchange(CheckChange *c) {
    real was = *c->at;
    *c->at = c->value;
    c->value = was;
}

static void run_one(CheckBatch *b) {
    CheckRun *r = b->run;
    CheckPoint *p = r->point;
    point_ready(p, b->fill);
    const Tensor *y = check_run_forward(r);
    check_run_has_outputs(r, b->outputs);
    tensor_copy_out(y, b->y + b->done * b->outputs);
    b->branches[b->done] = r->branches;
    if (!b->dy) return;
    check_run_backward(r, b->dy + b->done * b->outputs);
    real *grad = b->grad + b->done * b->gradients;
    for (int i = 0; i < p->inputs; i++) {
        if (!point_has_gradient(p, i)) continue;
        memcpy(grad, p->in[i].tensor.grad, (size_t)p->in[i].count * sizeof *grad);
        grad += p->in[i].count;
    }
}

void check_batch_run_here(CheckBatch *b) {
    for (long first = 0, end; b->done < b->asked; b->done++, first = end) {
        end = b->end[b->done];
        for (long i = first; i < end; i++) exchange(&b->change[i]);
        run_one(b);
        for (long i = end; i > first; i--) exchange(&b->change[i - 1]);
    }
    b->changes = 0;
}

void check_batch_run(CheckBatch *b) {
    if (b->done == b->asked) return;
    if (b->run->host)
        check_host_batch(b);
    else
        check_batch_run_here(b);
}

const real *check_batch_output(const CheckBatch *b, long run) {
    return b->y + run * b->outputs;
}

real *check_batch_gradient(const CheckBatch *b, long run, int input) {
    return b->grad + run * b->gradients + gradients_before(b->run->point, input);
}
