#include "gradcheck/curve.h"
#include <math.h>

static void outputs_with(CheckRun *run, real *x, double value, real *y) {
    real kept = *x;
    *x = (real)value;
    point_ready(run->point, 0);
    tensor_copy_out(check_run_forward(run), y);
    *x = kept;
}

void gradcheck_curve(CheckRun *run, int input, uint64_t seed, Arena *arena, InputReport *report) {
    const PointInput *in = &run->point->in[input];
    report->curve_points = 0;
    if (!report->coordinates || !isfinite(report->numeric)) return;
    point_ready(run->point, 0);
    long outputs = shape_count(check_run_forward(run)->shape);
    real *above = arena_alloc(arena, (size_t)outputs * sizeof *above);
    real *below = arena_alloc(arena, (size_t)outputs * sizeof *below);
    real *cotangent = arena_alloc(arena, (size_t)outputs * sizeof *cotangent);
    if (report->output < 0)
        check_run_cotangent(cotangent, outputs, seed, 0);
    else
        cotangent[report->output] = 1;

    real *x = point_element(in, report->element);
    double at = (double)*x, step = ldexp(1, ilogb(fmax(fabs(at), 1)));
    for (; report->curve_points < CURVE_POINTS; step /= 2) {
        double up = (double)(real)(at + step), down = (double)(real)(at - step), sum = 0;
        if (!(up > down)) return;
        outputs_with(run, x, up, above);
        outputs_with(run, x, down, below);
        for (long i = 0; i < outputs; i++)
            if (above[i] != below[i]) sum += (double)cotangent[i] * ((double)above[i] - (double)below[i]);
        double size = fabs(report->numeric) > 0 ? fabs(report->numeric) : 1;
        report->curve[report->curve_points++] =
            (CurvePoint){step, fabs(sum / (up - down) - report->numeric) / size};
    }
}
