/* ./bench step: the time of a training step. */
#include "base/pool.h"
#include "base/system.h"
#include "bench/bench.h"
#include "bench/bench_case.h"
#include "bench/peak.h"
#include <math.h>
#include <stdio.h>

static bool measure(const Case *c, const BenchOptions *o, double peak, Error *e) {
    Bench b;
    bool ok = bench_open(&b, c, e);
    if (ok) {
        Timing t = bench_time(bench_train, &b, o->seconds, 5);
        double tokens = (double)case_tokens(c);
        double share = b.flops / t.median * 1e-9 / (peak * pool_threads());
        if (o->json)
            printf("{\"case\": \"%s\", \"ms_per_step\": %.4f, \"best_ms\": %.4f, \"tokens_per_s\": %.0f, "
                   "\"params\": %ld, "
                   "\"threads\": %d, \"flops_utilisation\": %.4f, \"peak_gflops\": %.1f, \"steps\": %ld, "
                   "\"peak_mb\": %.1f}\n",
                   c->name, t.median * 1e3, t.best * 1e3, tokens / t.median, b.model->parameters.elements,
                   pool_threads(), share, peak, t.runs, (double)system_peak() / 1048576);
        else
            printf(
                "%-6s %d threads %9.3f ms/step (best %9.3f) %10.0f tokens/s %9ld parameters  %.2f of peak\n",
                c->name, pool_threads(), t.median * 1e3, t.best * 1e3, tokens / t.median,
                b.model->parameters.elements, share);
        fflush(stdout);
    }
    bench_close(&b);
    return ok;
}

bool bench_step(const char *name, const BenchOptions *o, Error *e) {
    const Case *only = name ? bench_case(name, e) : NULL;
    if (name && !only) return false;
    double peak = bench_peak_gflops(fmin(0.2, o->seconds));
    for (int i = 0; i < CASES; i++)
        if ((!only || only == &bench_cases[i]) && !measure(&bench_cases[i], o, peak, e)) return false;
    return true;
}
