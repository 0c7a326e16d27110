/* ./bench dispatch: the cost of an operation besides its arithmetic: recording it, calling its backward,
 * giving it memory. Measured on chains of an operation that does nothing, and on steps as a tape plans them,
 * without arithmetic. */
#include "bench/bench_case.h"

static void nothing(Node *n) {
    (void)n;
}

static const Op op_nothing = {"nothing", nothing, nothing, .stores_fresh = true};

/* A chain on a matrix x, or a step of a case. */
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

/* Nanoseconds an operation, in the fastest run. Backward's are those of a run with it less those of one
 * without. */
static void report(const BenchOptions *o, const char *what, Subject s, void (*run)(void *subject),
                   long operations) {
    double each = 1e9 / (double)operations, record = bench_time(run, &s, o->seconds / 2, 5).best * each;
    s.backward = true;
    double both = bench_time(run, &s, o->seconds / 2, 5).best * each;
    BENCH_PRINT(o, {"dispatch", what}, {"operations", NULL, (double)operations, 0},
                {"record_ns", NULL, record, 1}, {"backward_ns", NULL, both - record, 1},
                {"ns_per_operation", NULL, both, 1});
}

static bool measure(const Case *c, const BenchOptions *o, Error *e) {
    Bench b;
    bool ok = bench_open(&b, c, o, e);
    if (ok) {
        tape_plan(b.tape);
        bench_record(&b, 0, b.micro_batch);
        report(o, c->name, (Subject){.bench = &b}, plan_step, b.tape->nodes);
    }
    bench_close(&b);
    return ok;
}

bool bench_dispatch(const char *name, const BenchOptions *o, Error *e) {
    if (name && !bench_case(name, e)) return false;
    static real x[WIDTH * WIDTH];
    Tape *chain = tape_new();
    report(o, "nothing, of one input", (Subject){.tape = chain, .x = x, .inputs = 1}, record_chain, LINKS);
    report(o, "nothing, of three", (Subject){.tape = chain, .x = x, .inputs = 3}, record_chain, LINKS);
    tape_free(chain);
    return bench_each(name, measure, o, e);
}
