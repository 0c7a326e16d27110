/* ./bench profile and ./bench ops: the time of a training step by operation, or by operation and shapes. The
 * tape's observer times every operation in its place, with the caches as its neighbours leave them. */
#include "base/clock.h"
#include "base/pool.h"
#include "bench/bench.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* The runs of one operation, or of one operation on operands of the same shapes. */
typedef struct Line {
    const Op *op;
    int inputs;
    Shape in[MAX_INPUTS];
    long calls; /* this and the following: of one step */
    double bytes, flops;
    double now[2], best[2]; /* seconds of forward and backward, in this step and in the fastest */
} Line;

enum { MOST_LINES = 128 };
typedef struct Profile {
    bool by_shape;
    Line line[MOST_LINES];
    int lines;
    double optimizer, rest; /* seconds, of the fastest step */
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
    l->now[backward] += seconds;
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

/* Observes one training step. */
static void watch_once(Profile *p, Bench *b, bool first) {
    for (int i = 0; i < p->lines; i++) {
        Line *l = &p->line[i];
        l->calls = 0, l->bytes = l->flops = l->now[0] = l->now[1] = 0;
    }
    double start = clock_seconds();
    bench_gradient(b);
    double rest = clock_seconds() - start;
    optim_step(&b->optimizer, &b->model->parameters, 1e-4, 1);
    double optimizer = clock_seconds() - start - rest;
    for (int i = 0; i < p->lines; i++) {
        Line *l = &p->line[i];
        for (int direction = 0; direction < 2; direction++) {
            rest -= l->now[direction];
            if (first || l->now[direction] < l->best[direction]) l->best[direction] = l->now[direction];
        }
    }
    if (first || optimizer < p->optimizer) p->optimizer = optimizer;
    if (first || rest < p->rest) p->rest = rest;
}

/* Observes steps for some seconds, after a few without the observer. */
static void watch(Profile *p, Bench *b, double seconds) {
    enum { LEAST = 3 };
    for (int i = 0; i < LEAST; i++) bench_train(b);
    b->tape->observer = observe, b->tape->observer_context = p;
    double end = clock_seconds() + seconds;
    for (long i = 0; i < LEAST || clock_seconds() < end; i++) watch_once(p, b, i == 0);
    b->tape->observer = NULL;
    qsort(p->line, (size_t)p->lines, sizeof *p->line, by_time);
}

static double total_of(const Profile *p) {
    double total = p->optimizer + p->rest;
    for (int i = 0; i < p->lines; i++) total += seconds_of(&p->line[i]);
    return total;
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

/* ---- Subjects ---- */

static bool profile(const char *name, const BenchOptions *o, bool by_shape, Error *e) {
    static Profile p;
    const Case *c = bench_case(name, e);
    Bench b;
    if (!c) return false;
    p = (Profile){.by_shape = by_shape};
    bool ok = bench_open(&b, c, o, e);
    if (ok) {
        watch(&p, &b, o->seconds);
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
    return profile(name, o, false, e);
}

bool bench_ops(const char *name, const BenchOptions *o, Error *e) {
    return profile(name, o, true, e);
}
