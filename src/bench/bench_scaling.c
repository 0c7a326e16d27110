/* ./bench scaling: the growth of a training step's time with batch, context and width, beside that of its
 * arithmetic. */
#include "base/pool.h"
#include "bench/bench_case.h"
#include "bench/peak.h"

static const char *const axes[] = {"batch", "context", "width"};

static Case grown(Case c, int axis, int factor) {
    if (axis == 0) c.batch *= factor;
    if (axis == 1) c.S *= factor, c.T *= factor;
    if (axis == 2) c.d_model *= factor, c.d_ff *= factor;
    return c;
}

/* A character model, small enough to grow. */
static const Case small_model = {"small", KIND_LM, 4, 4, 64, 256, 65, 8, 0, 64, NULL};

/* Of one token: its share of a step's time, and the arithmetic of its matrix products. */
typedef struct Cost {
    double seconds, flops;
} Cost;

static bool measure(const Case *c, const BenchOptions *o, Cost *cost, Error *e) {
    Bench b;
    bool ok = bench_open(&b, c, o, e);
    if (ok) {
        double tokens = (double)case_tokens(c);
        *cost = (Cost){bench_time(bench_train, &b, o->seconds, 5).median / tokens, b.flops / tokens};
    }
    bench_close(&b);
    return ok;
}

bool bench_scaling(const char *name, const BenchOptions *o, Error *e) {
    const Case *base = name ? bench_case(name, e) : &small_model;
    Cost one, cost;
    if (!base || !measure(base, o, &one, e)) return false;
    double peak = bench_peak_gflops(o->seconds) * pool_threads();
    for (int axis = 0; axis < 3; axis++)
        for (int factor = 1; factor <= 8; factor *= 2) {
            Case c = grown(*base, axis, factor);
            cost = one;
            if (factor > 1 && !measure(&c, o, &cost, e)) return false;
            BENCH_PRINT(o, {"case", c.name}, {"grows", axes[axis]}, {"factor", NULL, factor, 0},
                        {"batch", NULL, (double)c.batch, 0}, {"context", NULL, (double)c.T, 0},
                        {"d_model", NULL, c.d_model, 0}, {"us_per_token", NULL, cost.seconds * 1e6, 4},
                        {"mflop_per_token", NULL, cost.flops * 1e-6, 4},
                        {"time_ratio", NULL, cost.seconds / one.seconds, 4},
                        {"flops_ratio", NULL, cost.flops / one.flops, 4},
                        {"flops_utilisation", NULL, cost.flops / cost.seconds * 1e-9 / peak, 4},
                        {"threads", NULL, pool_threads(), 0});
        }
    return true;
}
