/* How a plain central difference's error depends on its step: large steps bend, small ones are lost in
 * rounding, and between them lies the valley that extrapolation starts from. For looking at (`--curve`). */
#ifndef AUTOGRAD_CURVE_H
#define AUTOGRAD_CURVE_H

#include "autograd/check_run.h"
#include "autograd/gradcheck.h"

/* Fills the curve of the report's worst entry, which is one of input `input` of the run's point. */
void curve_of_worst(CheckRun *run, int input, uint64_t seed, Arena *arena, InputReport *report);

#endif
