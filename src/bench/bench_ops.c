/* ./bench profile and ./bench ops: the time of a training step by operation, and the rate of each operation
 * at the sizes of a step. The tape's observer times every operation in its place, with the caches as its
 * neighbours leave them. */
#include "base/clock.h"
#include "base/pool.h"
#include "bench/bench_case.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* The runs of one operation, or of one operation on operands of the same shapes. */
typedef struct Line {
    const Op *op;
    int inputs;
    Shape in[MAX_INPUTS];
    long calls; /* this and the following: of one pass */
    double bytes, flops;
    double pass[2], best[2]; /* seconds of forward and backward, in this pass and in the fastest */
} Line;

enum { MOST_LINES = 128 };
typedef struct Profile {
    bool by_shape;
    Line line[MOST_LINES];
    int lines;
    double optimizer, rest; /* seconds, of the fastest pass */
} Profile;

static bool same_shapes(const Line *l, const Node *n) {
    if (l->inputs != n->inputs) return false;
    for (int i = 0; i < n->inputs; i++) {
        Shape s = n->in[i] ? n->in[i]->shape : SCALAR;
        if (!shape_equal(l->in[i], s)) return false;
    }
    return true;
}

static Line *line_of(Profile *p, const Node *n) {
    for (int i = 0; i < p->lines; i++)
        if (p->line[i].op == n->op && (!p->by_shape || same_shapes(&p->line[i], n))) return &p->line[i];
    if (p->lines == MOST_LINES) error_bug("profile: more than %d kinds of operations", MOST_LINES);
    Line *l = &p->line[p->lines++];
    *l = (Line){.op = n->op, .inputs = n->inputs};
    for (int i = 0; i < n->inputs; i++) l->in[i] = n->in[i] ? n->in[i]->shape : SCALAR;
    return l;
}

/* Bytes of the arrays that forward or backward reads and writes. */
static double bytes_of(const Node *n, bool backward) {
    long count = shape_count(n->out->shape);
    for (int i = 0; i < n->inputs; i++)
        if (n->in[i])
            count += shape_count(n->in[i]->shape) * (backward && tensor_wants_grad(n->in[i]) ? 2 : 1);
    return (double)count * sizeof(real);
}

static void observe(void *context, const Node *n, bool backward, double seconds) {
    Line *l = line_of(context, n);
    l->pass[backward] += seconds;
    l->bytes += bytes_of(n, backward);
    if (backward && n->op->flops) l->flops += 3 * n->op->flops(n);
    l->calls += backward;
}

static double seconds_of(const Line *l) {
    return l->best[0] + l->best[1];
}

static int by_time(const void *a, const void *b) {
    double x = seconds_of(a), y = seconds_of(b);
    return (x < y) - (x > y);
}

/* Observes one pass; `pass` returns the seconds that it spent in the optimizer. */
static void watch_once(Profile *p, double (*pass)(void *context), void *context, bool first) {
    for (int i = 0; i < p->lines; i++) {
        Line *l = &p->line[i];
        l->calls = 0, l->bytes = l->flops = l->pass[0] = l->pass[1] = 0;
    }
    double start = clock_seconds(), optimizer = pass(context), rest = clock_seconds() - start - optimizer;
    for (int i = 0; i < p->lines; i++) {
        Line *l = &p->line[i];
        for (int direction = 0; direction < 2; direction++) {
            rest -= l->pass[direction];
            if (first || l->pass[direction] < l->best[direction]) l->best[direction] = l->pass[direction];
        }
    }
    if (first || optimizer < p->optimizer) p->optimizer = optimizer;
    if (first || rest < p->rest) p->rest = rest;
}

/* Observes passes for some seconds, after a few without the observer. */
static void watch(Profile *p, Tape *t, double (*pass)(void *context), void *context, double seconds) {
    enum { LEAST = 3 };
    for (int i = 0; i < LEAST; i++) pass(context);
    t->observer = observe, t->observer_context = p;
    double end = clock_seconds() + seconds;
    for (long i = 0; i < LEAST || clock_seconds() < end; i++) watch_once(p, pass, context, i == 0);
    t->observer = NULL;
    qsort(p->line, (size_t)p->lines, sizeof *p->line, by_time);
}

static double total_of(const Profile *p) {
    double total = p->optimizer + p->rest;
    for (int i = 0; i < p->lines; i++) total += seconds_of(&p->line[i]);
    return total;
}

static double train(void *bench) {
    Bench *b = bench;
    bench_gradient(b);
    double start = clock_seconds();
    optim_step(&b->optimizer, &b->model->parameters, 1e-4, 1);
    return clock_seconds() - start;
}

/* ---- Printing ---- */

static void operands_text(const Line *l, char *out, size_t size) {
    size_t at = 0;
    out[0] = 0;
    for (int i = 0; i < l->inputs && at < size; i++) {
        int n = snprintf(out + at, size - at, "%s%s", i ? " " : "", shape_text(l->in[i]));
        at += n > 0 ? (size_t)n : 0;
    }
}

/* Seconds, and a rate in 10⁹ a second: arithmetic of products, or else bytes. */
static void print_row(const Case *c, const BenchOptions *o, const char *op, const char *operands, long calls,
                      double forward, double backward, double rate, bool products, double share) {
    BENCH_PRINT(o, {"case", c->name}, {"op", op}, {"operands", operands}, {"calls", NULL, (double)calls, 0},
                {"forward_ms", NULL, forward * 1e3, 5}, {"backward_ms", NULL, backward * 1e3, 5},
                {"gflops", NULL, products ? rate : NAN, 1}, {"gbytes_per_s", NULL, products ? NAN : rate, 1},
                {"share", NULL, share, 4}, {"threads", NULL, pool_threads(), 0});
}

static void print_lines(const Case *c, const BenchOptions *o, const Profile *p) {
    for (int i = 0; i < p->lines; i++) {
        const Line *l = &p->line[i];
        char operands[160] = "";
        if (p->by_shape) operands_text(l, operands, sizeof operands);
        double rate = (l->flops > 0 ? l->flops : l->bytes) / seconds_of(l) * 1e-9;
        print_row(c, o, l->op->name, operands, l->calls, l->best[0], l->best[1], rate, l->flops > 0,
                  seconds_of(l) / total_of(p));
    }
}

/* ---- Elementary operations, one at a time on the tape ---- */

/* How each is recorded, on a and b: [rows, d_model]. */
#define ELEMENTARY                                                                                           \
    X(add, a, b)                                                                                             \
    X(sub, a, b)                                                                                             \
    X(mul, a, b)                                                                                             \
    X(div, a, b)                                                                                             \
    X(scale, a, 3)                                                                                           \
    X(neg, a)                                                                                                \
    X(exp, a)                                                                                                \
    X(log, a)                                                                                                \
    X(sqrt, a)                                                                                               \
    X(square, a)                                                                                             \
    X(pow, a, (real)2.5)                                                                                     \
    X(tanh, a)                                                                                               \
    X(sigmoid, a)                                                                                            \
    X(relu, a)                                                                                               \
    X(gelu, a)                                                                                               \
    X(clamp, a, (real)0.7, (real)1.3)                                                                        \
    X(sum, a, 1)                                                                                             \
    X(mean, a, 1)                                                                                            \
    X(max, a, 1)                                                                                             \
    X(slice, a, 0, 0, a->shape.size[0] / 2)                                                                  \
    X(concat, 1, 2, (Tensor *[]){a, b})                                                                      \
    X(contiguous, tape_transpose(t, a, 0, 1))                                                                \
    X(matmul, tape_transpose(t, a, 0, 1), b)                                                                 \
    X(softmax, a, 1)                                                                                         \
    X(log_softmax, a, 1)                                                                                     \
    X(masked_fill, a, unmasked, SHAPE(a->shape.size[0], 1), 0)                                               \
    X(dropout, a, 0.1)                                                                                       \
    X(residual, a, b, 0.1)                                                                                   \
    X(cross_entropy, a, first_class, -1, 0)

enum { MOST_ROWS = 2048 };
static const uint8_t unmasked[MOST_ROWS];
static const int32_t first_class[MOST_ROWS];

#define X(name, ...)                                                                                         \
    static Tensor *record_##name(Tape *t, Tensor *a, Tensor *b) {                                            \
        (void)b;                                                                                             \
        return tape_##name(t, __VA_ARGS__);                                                                  \
    }
ELEMENTARY
#undef X
#define X(name, ...) record_##name,
static Tensor *(*const elementary[])(Tape *t, Tensor *a, Tensor *b) = {ELEMENTARY};
#undef X

typedef struct Alone {
    Tape *tape;
    Shape shape;
    real *memory; /* a, b, da, db, and twice as many ones: the upstream gradient */
} Alone;

static double run_alone(void *context) {
    Alone *c = context;
    long count = shape_count(c->shape);
    for (size_t i = 0; i < sizeof elementary / sizeof *elementary; i++) {
        real *at = c->memory;
        Tensor *a = tape_leaf(c->tape, c->shape, at, at + 2 * count);
        Tensor *b = tape_leaf(c->tape, c->shape, at + count, at + 3 * count);
        a->grad_state = b->grad_state = GRAD_FRESH;
        tape_backward_from(c->tape, elementary[i](c->tape, a, b), at + 4 * count);
        tape_reset(c->tape);
    }
    return 0;
}

static bool watch_elementary(Profile *p, const Case *c, double seconds, Error *e) {
    Alone alone = {.tape = tape_new(), .shape = SHAPE(case_tokens(c), c->d_model)};
    long count = shape_count(alone.shape);
    alone.memory = calloc((size_t)count * 6, sizeof(real));
    if (alone.memory) {
        for (long i = 0; i < 2 * count; i++) alone.memory[i] = (real)(i % 1024 + 512) / 1024;
        for (long i = 4 * count; i < 6 * count; i++) alone.memory[i] = 1;
        alone.tape->training = true;
        watch(p, alone.tape, run_alone, &alone, seconds);
    } else {
        error_set(e, STATUS_NO_MEMORY, "memory: arrays of %ld numbers", count);
    }
    tape_free(alone.tape);
    free(alone.memory);
    return e->status == STATUS_DONE;
}

/* ---- Subjects ---- */

static bool profile_case(const Case *c, const BenchOptions *o, bool by_shape, Error *e) {
    static Profile p;
    p = (Profile){.by_shape = by_shape};
    Bench b;
    bool ok = bench_open(&b, c, o, e);
    if (ok) {
        watch(&p, b.tape, train, &b, o->seconds);
        /* The optimizer reads gradients twice, values and two moments once, and writes values and moments. */
        double bytes = 8.0 * (double)b.model->parameters.size * sizeof(real), total = total_of(&p);
        print_lines(c, o, &p);
        print_row(c, o, "optimizer", "", 1, 0, p.optimizer, bytes / p.optimizer * 1e-9, false,
                  p.optimizer / total);
        print_row(c, o, "outside operations", "", 0, p.rest, 0, 0, false, p.rest / total);
    }
    bench_close(&b);
    return ok;
}

bool bench_profile(const char *name, const BenchOptions *o, Error *e) {
    const Case *c = bench_case(name, e);
    return c && profile_case(c, o, false, e);
}

bool bench_ops(const char *name, const BenchOptions *o, Error *e) {
    static Profile p;
    const Case *c = bench_case(name, e);
    if (!c || !profile_case(c, o, true, e)) return false;
    p = (Profile){.by_shape = true};
    if (!watch_elementary(&p, c, o->seconds, e)) return false;
    print_lines(c, o, &p);
    return true;
}
