#include "check/gradcheck/check_run.h"
#include "base/random.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void check_run_job(CheckRun *r, Job job) {
    job.point = r->point;
    job.ways = r->ways;
    r->evaluations += job.runs;
    r->runner(r->where, r, &job, &r->result);
    r->nodes = r->result.nodes;
}

Tensor *check_run_forward(CheckRun *r) {
    check_run_job(r, (Job){.runs = 1});
    size_t bytes = (size_t)shape_count(r->result.shape) * sizeof(real);
    free(r->y);
    Tensor *y = r->y = malloc(sizeof *y + bytes);
    if (!y) error_no_memory("an output of %zu bytes", bytes);
    *y = tensor_over(memcpy(y + 1, r->result.y, bytes), r->result.shape);
    y->grad_state = r->result.wants_grad ? GRAD_SUM : GRAD_UNWANTED;
    return y;
}

void check_run_free(CheckRun *r) {
    free(r->y);
    result_free(&r->result);
}

void check_run_has_outputs(const CheckRun *r, long outputs) {
    long found = shape_count(r->result.shape);
    if (found != outputs)
        error_bug("%s, case %s: the output has %ld elements at one point and %ld at another", r->op,
                  r->c->name, outputs, found);
}

void check_run_cotangent(real *dy, long outputs, uint64_t seed, uint64_t number) {
    uint64_t key = random_key(seed, 0xC07A00 + number);
    for (long i = 0; i < outputs; i++) {
        real size = (real)0.5 + random_uniform(key, (uint64_t)i);
        dy[i] = random_bits(key, (uint64_t)(outputs + i)) & 1 ? size : -size;
    }
}

void check_run_direction(real *v, long count, uint64_t key) {
    double size = 1 / sqrt((double)count);
    for (long i = 0; i < count; i++) {
        double part = size * (0.5 + (double)random_uniform(key, (uint64_t)(2 * i)));
        v[i] = (real)(random_bits(key, (uint64_t)(2 * i + 1)) & 1 ? part : -part);
    }
}
