/* ./bench scaling: how the time of a training step grows as batch, context or width do, beside its arithmetic. */
#include "base/pool.h"
#include "bench/bench.h"
#include "bench/bench_case.h"
#include "bench/peak.h"
#include <math.h>
#include <stdio.h>

/* What grows, by a factor. */
static void grow_batch(Case *c, int factor) {
    c->batch *= factor;
}

static void grow_context(Case *c, int factor) {
    c->S *= factor, c->T *= factor;
}

static void grow_width(Case *c, int factor) {
    c->d_model *= factor, c->d_ff *= factor;
}

static const struct Axis {
    const char *name;
    void (*grow)(Case *c, int factor);
} axes[] = {{"batch", grow_batch}, {"context", grow_context}, {"width", grow_width}};

/* A character model, small enough to grow. */
static const Case small_model = {"small", KIND_LM, 4, 4, 64, 256, 65, 8, 0, 64};

/* Of one token: its time in a step, and the arithmetic of its matrix products. */
typedef struct Cost {
    double seconds, flops;
} Cost;

static bool measure(const Case *c, const BenchOptions *o, Cost *cost, Error *e) {
    Bench b;
    bool ok = bench_open(&b, c, e);
    if (ok) {
        double tokens = (double)case_tokens(c);
        *cost = (Cost){bench_time(bench_train, &b, o->seconds, 5).median / tokens, b.flops / tokens};
    }
    bench_close(&b);
    return ok;
}

static void print(const BenchOptions *o, const char *axis, int factor, const Case *c, Cost base, Cost cost,
                  double peak) {
    double share = cost.flops / cost.seconds * 1e-9 / (peak * pool_threads());
    double time = cost.seconds / base.seconds, flops = cost.flops / base.flops;
    if (o->json)
        printf(
            "{\"case\": \"%s\", \"grows\": \"%s\", \"factor\": %d, \"batch\": %ld, \"context\": %ld, "
            "\"d_model\": %d, "
            "\"us_per_token\": %.4f, \"mflop_per_token\": %.4f, \"time_ratio\": %.4f, \"flops_ratio\": %.4f, "
            "\"flops_utilisation\": %.4f, \"threads\": %d}\n",
            c->name, axis, factor, c->batch, c->T, c->d_model, cost.seconds * 1e6, cost.flops * 1e-6, time,
            flops, share, pool_threads());
    else
        printf("%-7s x%d %6ld %8ld %8d %10.3f %10.3f %9.2f %11.2f %11.2f %8.2f\n", axis, factor, c->batch,
               c->T, c->d_model, cost.seconds * 1e6, cost.flops * 1e-6, time, flops, time / flops, share);
    fflush(stdout);
}

bool bench_scaling(const char *name, const BenchOptions *o, Error *e) {
    const Case *base = name ? bench_case(name, e) : &small_model;
    if (!base) return false;
    double peak = bench_peak_gflops(fmin(0.2, o->seconds));
    if (!o->json)
        printf("%s, %d layers, %d threads; of a token, and as ratios to x1\n"
               "%-10s %6s %8s %8s %10s %10s %9s %11s %11s %8s\n",
               base->name, base->layers, pool_threads(), "grows", "batch", "context", "d_model", "us",
               "MFLOP", "time", "arithmetic", "time/arith.", "of peak");
    Cost one, cost;
    if (!measure(base, o, &one, e)) return false;
    for (size_t i = 0; i < sizeof axes / sizeof *axes; i++)
        for (int factor = 1; factor <= 8; factor *= 2) {
            Case c = *base;
            axes[i].grow(&c, factor);
            cost = one;
            if (factor > 1 && !measure(&c, o, &cost, e)) return false;
            print(o, axes[i].name, factor, &c, one, cost, peak);
        }
    return true;
}
