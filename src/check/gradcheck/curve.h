/* How a plain central difference's error depends on its step: large steps bend, small ones are lost in
 * rounding, and between them lies the valley that extrapolation starts from. For looking at (`--curve`). */
#ifndef GRADCHECK_CURVE_H
#define GRADCHECK_CURVE_H

#include "check/gradcheck/check_run.h"
#include "check/gradcheck/report.h"

/* Fills the curve of the report's worst entry, which is one of input `input` of the run's point. */
void gradcheck_curve(CheckRun *run, int input, uint64_t seed, Arena *arena, InputReport *report);

#endif
