#include "explain/pictures/sparkline.h"
#include "explain/pictures/draw.h"
#include <math.h>
#include <string.h>

static const char *const bars[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
static const char *const ascii[] = {"_", ".", "-", "~", "=", "+", "*", "#"};
enum { HEIGHTS = sizeof bars / sizeof *bars };

const char *sparkline(char out[SPARKLINE_TEXT], const double *values, long count, int columns, bool unicode) {
    double height[SPARKLINE_MOST] = {0}, low = INFINITY, high = -INFINITY;
    if (columns > SPARKLINE_MOST) columns = SPARKLINE_MOST;
    if (columns > count) columns = (int)count;
    for (int c = 0; c < columns; c++) {
        double sum = 0;
        long finite = 0;
        for (long i = count * c / columns; i < count * (c + 1) / columns; i++)
            if (isfinite(values[i])) sum += values[i], finite++;
        height[c] = finite ? sum / (double)finite : NAN;
    }
    axis_widen(&low, &high, height, columns, false);
    Axis a = axis_over(low, high, false);
    *out = 0;
    for (int c = 0; c < columns; c++) {
        double place = axis_place(&a, height[c]);
        int step = isnan(place) ? 0 : (int)fmin(place * HEIGHTS, HEIGHTS - 1);
        strcat(out, isnan(place) ? " " : unicode ? bars[step] : ascii[step]);
    }
    return out;
}
