/* An axis: which values it covers, where a value lies on it, and which round numbers stand beside it. */
#ifndef PICTURES_AXIS_H
#define PICTURES_AXIS_H

#include <stdbool.h>

typedef struct Axis {
    double low, high; /* low < high */
    bool log;         /* both above 0, places go by the logarithm */
} Axis;

/* The axis from low to high; wider where that is no range: where nothing was found, or one value alone. */
Axis axis_over(double low, double high, bool log);

/* 0 at the low end, 1 at the high one; NAN for what is no number or, on a logarithmic axis, not above 0. */
double axis_place(const Axis *a, double value);

/* Puts up to `most` round numbers within the axis into ticks, ascending, and returns how many. most is at least 2. */
int axis_ticks(const Axis *a, int most, double *ticks);

/* What of [count] values an axis would cover: finite ones, above 0 if log. Starts from *low, *high. */
void axis_widen(double *low, double *high, const double *values, long count, bool log);

#endif
