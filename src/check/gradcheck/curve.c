#include "check/gradcheck/curve.h"
#include "check/gradcheck/check_batch.h"
#include <math.h>

void gradcheck_curve(CheckRun *run, int input, uint64_t seed, Arena *arena, InputReport *report) {
    const PointInput *in = &run->point->in[input];
    report->curve_points = 0;
    if (!report->coordinates || !isfinite(report->numeric)) return;
    point_ready(run->point, 0);
    long outputs = shape_count(check_run_forward(run)->shape);
    CheckBatch b;
    check_batch_open(&b, run, arena, outputs, 2, 1);
    real *cotangent = arena_alloc(arena, (size_t)outputs * sizeof *cotangent);
    if (report->output < 0)
        check_run_cotangent(cotangent, outputs, seed, 0);
    else
        cotangent[report->output] = 1;

    real *x = point_element(in, report->element);
    double at = (double)*x, step = ldexp(1, ilogb(fmax(fabs(at), 1)));
    for (; report->curve_points < CURVE_POINTS; step /= 2) {
        real up = (real)(at + step), down = (real)(at - step);
        double sum = 0;
        if (!(up > down)) return;
        check_batch_begin(&b);
        check_batch_ask(&b, 1), check_batch_change(&b, x, up);
        check_batch_ask(&b, 1), check_batch_change(&b, x, down);
        check_batch_run(&b);
        const real *above = check_batch_output(&b, 0), *below = check_batch_output(&b, 1);
        for (long i = 0; i < outputs; i++)
            if (above[i] != below[i]) sum += (double)cotangent[i] * ((double)above[i] - (double)below[i]);
        double size = fabs(report->numeric) > 0 ? fabs(report->numeric) : 1;
        report->curve[report->curve_points++] =
            (CurvePoint){step, fabs(sum / ((double)up - (double)down) - report->numeric) / size};
    }
}
