/* ./bench profile: the time of a training step by operation. The tape's observer times every operation in its
 * place, with the caches as its neighbours leave them. */
#include "base/clock.h"
#include "base/pool.h"
#include "bench/bench.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The runs of one operation, in all steps. */
typedef struct Line {
    const char *op;
    double calls, flops, seconds[2]; /* of forward and backward */
} Line;

enum { MOST_LINES = 64 };
typedef struct Profile {
    Line line[MOST_LINES];
    int lines;
} Profile;

static Line *line_of(Profile *p, const char *op) {
    for (int i = 0; i < p->lines; i++)
        if (strcmp(p->line[i].op, op) == 0) return &p->line[i];
    if (p->lines == MOST_LINES) error_bug("profile: more than %d operations", MOST_LINES);
    p->line[p->lines] = (Line){.op = op};
    return &p->line[p->lines++];
}

static void observe(void *context, const Node *n, bool backward, double seconds) {
    Line *l = line_of(context, n->op->name);
    l->seconds[backward] += seconds;
    l->calls += backward;
    if (backward && n->op->flops) l->flops += 3 * n->op->flops(n);
}

static int by_time(const void *a, const void *b) {
    const Line *x = a, *y = b;
    double one = x->seconds[0] + x->seconds[1], other = y->seconds[0] + y->seconds[1];
    return (one < other) - (one > other);
}

/* Observes steps for some seconds, after a few without the observer. Returns their number, and their seconds
 * in *total. */
static double watch(Profile *p, Bench *b, double seconds, double *total) {
    enum { LEAST = 3 };
    double steps = 0, optimizer = 0;
    for (int i = 0; i < LEAST; i++) bench_train(b);
    b->tape->observer = observe, b->tape->observer_context = p;
    double begin = clock_seconds();
    for (; steps < LEAST || clock_seconds() < begin + seconds; steps++) {
        bench_gradient(b);
        optimizer -= clock_seconds();
        optim_step(&b->optimizer, &b->model->parameters, 1e-4, 1);
        optimizer += clock_seconds();
    }
    *total = clock_seconds() - begin;
    b->tape->observer = NULL;
    double rest = *total - optimizer;
    for (int i = 0; i < p->lines; i++) rest -= p->line[i].seconds[0] + p->line[i].seconds[1];
    *line_of(p, "optimizer") = (Line){.op = "optimizer", .calls = steps, .seconds = {0, optimizer}};
    *line_of(p, "outside operations") = (Line){.op = "outside operations", .seconds = {rest}};
    return steps;
}

static bool profile(const Case *c, const BenchOptions *o, Error *e) {
    static Profile p;
    Bench b;
    p = (Profile){.lines = 0};
    bool ok = bench_open(&b, c, o, e);
    if (ok) {
        double total, steps = watch(&p, &b, o->seconds, &total);
        qsort(p.line, (size_t)p.lines, sizeof *p.line, by_time);
        for (const Line *l = p.line; l < p.line + p.lines; l++) {
            double forward = l->seconds[0], both = forward + l->seconds[1];
            BENCH_PRINT(o, {"case", c->name}, {"op", l->op}, {"calls", NULL, l->calls / steps, 0},
                        {"forward_ms", NULL, forward / steps * 1e3, 5},
                        {"backward_ms", NULL, l->seconds[1] / steps * 1e3, 5},
                        {"gflops", NULL, l->flops > 0 ? l->flops / both * 1e-9 : NAN, 1},
                        {"share", NULL, both / total, 4}, {"threads", NULL, pool_threads(), 0});
        }
    }
    bench_close(&b);
    return ok;
}

bool bench_profile(const char *name, const BenchOptions *o, Error *e) {
    return bench_each(name, profile, o, e);
}
