#include "pictures/picture.h"
#include <math.h>

Axis axis_over(double low, double high, bool log) {
    if (!(low <= high)) low = log ? 1 : 0, high = log ? 10 : 1;
    double least = fmax(fabs(low), fabs(high)) * 1e-9; /* closer values have no ticks between them */
    if (high - low <= least) {
        double more = low == 0 ? 1 : fabs(low) / 2;
        low -= more;
        high += more;
    }
    return (Axis){low, high, log};
}

double axis_place(const Axis *a, double value) {
    if (!isfinite(value) || (a->log && value <= 0)) return NAN;
    return a->log ? log(value / a->low) / log(a->high / a->low) : (value - a->low) / (a->high - a->low);
}

void axis_widen(double *low, double *high, double value, bool log) {
    if (!isfinite(value) || (log && value <= 0)) return;
    *low = fmin(*low, value);
    *high = fmax(*high, value);
}

/* Ticks at the least step of 1, 2 or 5 times a power of ten that needs at most `most`. */
static int even_ticks(const Axis *a, int most, double *ticks) {
    static const double factors[] = {1, 2, 5};
    double power = pow(10, floor(log10((a->high - a->low) / most)) - 1), slack = (a->high - a->low) * 1e-9;
    for (;; power *= 10)
        for (int f = 0; f < 3; f++) {
            double step = power * factors[f], first = ceil((a->low - slack) / step),
                   last = floor((a->high + slack) / step);
            if (last - first + 1 > most) continue;
            int count = 0;
            for (double i = first; i <= last; i++) ticks[count++] = i * step + 0.0; /* no -0 */
            return count;
        }
}

/* Powers of ten; every second, third, … if they are many. */
static int power_ticks(const Axis *a, int most, double *ticks) {
    double first = ceil(log10(a->low) - 1e-9), last = floor(log10(a->high) + 1e-9),
           step = ceil((last - first + 1) / most);
    int count = 0;
    for (double p = first; p <= last; p += step) ticks[count++] = pow(10, p);
    return count;
}

int axis_ticks(const Axis *a, int most, double *ticks) {
    int powers = a->log ? power_ticks(a, most, ticks) : 0;
    return powers < 2 ? even_ticks(a, most, ticks) : powers;
}
