#include "check/gradcheck/rounding.h"
#include <math.h>

double rounding_room(double roundings, double unit, double terms) {
    return roundings * unit * terms;
}

bool rounding_same(double a, double b, double room) {
    return a == b || fabs(a - b) <= room || (isnan(a) && isnan(b));
}

double rounding_largest(const real *x, long count) {
    double largest = 0;
    for (long i = 0; i < count; i++)
        if (isfinite(x[i])) largest = fmax(largest, fabs((double)x[i]));
    return largest;
}

void rounding_note(double *moved, double before, double after) {
    double change = fabs(after - before);
    if (isfinite(change)) *moved = fmax(*moved, change);
}
