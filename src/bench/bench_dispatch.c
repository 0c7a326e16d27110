/* ./bench dispatch: what an operation costs besides its arithmetic: to record it, to find its backward and to give
 * it memory. Measured on chains of an operation that does nothing, and on the steps of the cases as a tape plans
 * them, which is all of a step but the arithmetic. */
#include "bench/bench.h"
#include "bench/bench_case.h"
#include <stdio.h>

static void nothing(Node *n) {
    (void)n;
}

/* Without cases, for it is not one of ops.def. */
static const Op op_nothing = {"nothing", nothing, nothing, .stores_fresh = true};

/* What is recorded over and over: a chain on a matrix x, or a step of a case. */
typedef struct Subject {
    Tape *tape;
    bool backward;
    long inputs;
    real *x;
    Bench *bench;
} Subject;

enum { LINKS = 100, WIDTH = 32 };

static void record_chain(void *subject) {
    Subject *s = subject;
    Shape shape = SHAPE(WIDTH, WIDTH);
    Tensor *x = tape_leaf(s->tape, shape, s->x, s->x), *y = x;
    for (int i = 0; i < LINKS; i++)
        y = tape_record(tape_node(s->tape, &op_nothing, shape, (int)s->inputs, (Tensor *[]){y, x, x}));
    if (s->backward) tape_backward_from(s->tape, y, s->x);
    tape_reset(s->tape);
}

static void plan_step(void *subject) {
    Subject *s = subject;
    Bench *b = s->bench;
    tape_plan(b->tape);
    Forward f = {b->tape, b->model, &b->source, &b->target};
    Tensor *loss = nn_loss(&f, nn_hidden(&f), b->targets);
    if (s->backward) tape_backward(b->tape, loss);
}

/* Nanoseconds an operation, in the fastest run. Backward's are what a run takes more with it than without. */
static void report(const BenchOptions *o, const char *what, Subject s, void (*run)(void *subject),
                   long operations) {
    double record = bench_time(run, &s, o->seconds / 2, 5).best;
    s.backward = true;
    double both = bench_time(run, &s, o->seconds / 2, 5).best, each = 1e9 / (double)operations;
    if (o->json)
        printf("{\"dispatch\": \"%s\", \"operations\": %ld, \"record_ns\": %.1f, \"backward_ns\": %.1f, "
               "\"ns_per_operation\": %.1f}\n",
               what, operations, record * each, (both - record) * each, both * each);
    else
        printf("%-24s %10ld %10.1f %12.1f %10.1f\n", what, operations, record * each, (both - record) * each,
               both * each);
}

bool bench_dispatch(const char *name, const BenchOptions *o, Error *e) {
    const Case *only = name ? bench_case(name, e) : NULL;
    if (name && !only) return false;
    if (!o->json)
        printf("%-24s %10s %10s %12s %10s   nanoseconds each\n", "without arithmetic", "operations", "record",
               "backward", "together");
    static real x[WIDTH * WIDTH];
    Tape *chain = tape_new();
    report(o, "nothing, of one input", (Subject){.tape = chain, .x = x, .inputs = 1}, record_chain, LINKS);
    report(o, "nothing, of three", (Subject){.tape = chain, .x = x, .inputs = 3}, record_chain, LINKS);
    tape_free(chain);
    for (int i = 0; i < CASES; i++) {
        Bench b;
        if (only && only != &bench_cases[i]) continue;
        bool ok = bench_open(&b, &bench_cases[i], e);
        if (ok) {
            tape_plan(b.tape);
            bench_record(&b, 0, b.micro_batch);
            report(o, b.c->name, (Subject){.bench = &b}, plan_step, b.tape->nodes);
        }
        bench_close(&b);
        if (!ok) return false;
    }
    return true;
}
