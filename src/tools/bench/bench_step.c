/* ./bench step: the time of a training step. */
#include "base/pool.h"
#include "base/system.h"
#include "bench/bench.h"

static bool measure(const Case *c, const BenchOptions *o, Error *e) {
    Bench b;
    bool ok = bench_open(&b, c, o, e);
    if (ok) {
        double peak = bench_peak_gflops(o->seconds);
        Timing t = bench_time(bench_train, &b, o->seconds, 5);
        BENCH_PRINT(
            o, {"case", c->name}, {"ms_per_step", NULL, t.median * 1e3, 4},
            {"best_ms", NULL, t.best * 1e3, 4},
            {"tokens_per_s", NULL, (double)(c->batch * c->T) / t.median, 0},
            {"params", NULL, (double)b.model->parameters.elements, 0},
            {"threads", NULL, pool_threads(), 0},
            {"flops_utilisation", NULL, b.flops / t.median * 1e-9 / (peak * pool_threads()), 4},
            {"peak_gflops", NULL, peak, 1}, {"steps", NULL, (double)t.runs, 0},
            {"peak_mb", NULL, (double)system_peak() / 1048576, 1});
    }
    bench_close(&b);
    return ok;
}

bool bench_step(const char *name, const BenchOptions *o, Error *e) {
    return bench_each(name, measure, o, e);
}
