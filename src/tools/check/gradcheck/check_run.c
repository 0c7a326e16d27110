#include "check/gradcheck/check_run.h"
#include "base/arena.h"
#include "base/clock.h"
#include "base/random.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Makes room for `count` elements in memory that keeps nothing. */
static void *room_for(void *old, size_t *room, long count, size_t size) {
    size_t bytes = ((size_t)count + 1) * size;
    if (bytes <= *room) return old;
    free(old);
    old = malloc(bytes);
    if (!old) error_no_memory("the results of %ld runs", count);
    *room = bytes;
    return old;
}

void result_for_outputs(Result *r, long runs, long outputs) {
    r->y = room_for(r->y, &r->y_room, runs * outputs, sizeof *r->y);
    r->branches = room_for(r->branches, &r->branches_room, runs, sizeof *r->branches);
}

void result_for_gradients(Result *r, long runs, long gradients) {
    r->grad = room_for(r->grad, &r->grad_room, runs * gradients, sizeof *r->grad);
}

void result_free(Result *r) {
    free(r->y);
    free(r->branches);
    free(r->grad);
    *r = (Result){0};
}

int job_backwards(const Job *j) {
    if (!j->dy) return 0;
    return j->backwards ? j->backwards : 1;
}

/* ---- Jobs ---- */

static void do_job(CheckRun *r, Job *job, Result *result) {
    job->point = r->point;
    job->ways = r->ways;
    job->outputs = r->outputs;
    r->evaluations += job->runs;
    r->runner(r->where, r, job, result);
    r->nodes = result->nodes;
}

void check_run_job(CheckRun *r, Job job) {
    do_job(r, &job, &r->result);
}

/* The output has as many elements as at the first point. */
static void same_outputs(const CheckRun *r, const Result *result) {
    long found = shape_count(result->shape);
    if (found != r->outputs)
        error_bug("%s, case %s: the output has %ld elements at one point and %ld at another", r->op,
                  r->c->name, r->outputs, found);
}

Tensor *check_run_forward(CheckRun *r) {
    check_run_job(r, (Job){.runs = 1});
    r->outputs = shape_count(r->result.shape);
    if (r->result.parts < 2) r->result.part[0] = r->result.shape;
    size_t bytes = (size_t)r->outputs * sizeof(real);
    free(r->y);
    Tensor *y = r->y = malloc(sizeof *y + bytes);
    if (!y) error_no_memory("an output of %zu bytes", bytes);
    *y = tensor_over(memcpy(y + 1, r->result.y, bytes), r->result.shape);
    y->grad_state = r->result.wants_grad ? GRAD_SUM : GRAD_UNWANTED;
    return y;
}

void check_run_free(CheckRun *r) {
    free(r->y);
    free(r->start);
    free(r->change);
    result_free(&r->result);
    result_free(&r->part);
}

/* ---- Many runs ---- */

long check_run_ask(CheckRun *r) {
    r->start = array_grown(r->start, r->asked + 1, &r->asked_room, sizeof *r->start);
    r->start[r->asked] = r->start[r->asked + 1] = r->changes;
    return r->asked++;
}

void check_run_change(CheckRun *r, int input, long element, double value) {
    r->change = array_grown(r->change, r->changes, &r->change_room, sizeof *r->change);
    r->change[r->changes++] = (JobChange){input, element, (double)(real)value};
    r->start[r->asked] = r->changes;
}

/* The number of a job's runs from `done` on that fit into one job. */
static long runs_of_part(const CheckRun *r, const Job *job, long done, long gradients) {
    long most = r->at_once ? r->at_once : JOB_RUNS, runs = 0;
    while (runs < most && done + runs < job->runs) {
        long changes = job->start ? job->start[done + runs + 1] - job->start[done] : 0,
             with = runs + 1;
        if (changes > JOB_CHANGES && !runs)
            error_bug("an input of %ld elements is too large to be checked", changes);
        if (runs && (with * r->outputs > JOB_OUTPUTS || with * gradients > JOB_GRADIENTS ||
                     changes > JOB_CHANGES))
            break;
        runs = with;
    }
    return runs;
}

/* Does the job in parts that take a moment each; r->result has what came of all. */
static void do_parts(CheckRun *r, const Job *job) {
    const double moment = 0.1; /* seconds */
    Result *all = &r->result, *part = &r->part;
    long gradients = job->dy ? point_gradients_before(r->point, r->point->inputs) : 0;
    result_for_outputs(all, job->runs, r->outputs);
    result_for_gradients(all, job->runs, gradients);
    for (long done = 0, runs; done < job->runs; done += runs) {
        double began = clock_seconds();
        Job some = *job;
        some.runs = runs = runs_of_part(r, job, done, gradients);
        if (job->start) some.start += done;
        if (job->dy) some.dy += done * r->outputs;
        do_job(r, &some, part);
        same_outputs(r, part);
        memcpy(all->y + done * r->outputs, part->y, (size_t)(runs * r->outputs) * sizeof(real));
        memcpy(all->branches + done, part->branches, (size_t)runs * sizeof *part->branches);
        if (gradients) memcpy(all->misfit, part->misfit, sizeof all->misfit);
        if (gradients)
            memcpy(all->grad + done * gradients, part->grad,
                   (size_t)(runs * gradients) * sizeof(real));
        double seconds = clock_seconds() - began;
        if (seconds < moment && r->at_once < JOB_RUNS) r->at_once *= 2;
        if (seconds > 2 * moment && r->at_once > 1) r->at_once /= 2;
    }
}

void check_run_all(CheckRun *r, const real *dy) {
    Job job = {
        .runs = r->asked, .change = r->change, .start = r->changes ? r->start : NULL, .dy = dy};
    r->asked = r->changes = 0;
    if (!r->ways.together) {
        do_parts(r, &job);
        return;
    }
    check_run_job(r, job);
    same_outputs(r, &r->result);
}

const real *check_run_output(const CheckRun *r, long run) {
    return r->result.y + run * r->outputs;
}

const real *check_run_gradient(const CheckRun *r, long run, int input) {
    const CheckPoint *p = r->point;
    return r->result.grad + run * point_gradients_before(p, p->inputs) +
           point_gradients_before(p, input);
}

void check_run_cotangent(real *dy, long outputs, uint64_t seed, uint64_t number) {
    uint64_t key = random_key(seed, 0xC07A00 + number);
    for (long i = 0; i < outputs; i++) {
        real size = (real)0.5 + random_uniform(key, (uint64_t)i);
        dy[i] = random_bits(key, (uint64_t)(outputs + i)) & 1 ? size : -size;
    }
}

void check_run_direction(real *v, long count, uint64_t key) {
    check_run_cotangent(v, count, key, 0);
    for (long i = 0; i < count; i++) v[i] /= (real)sqrt((double)count);
}
