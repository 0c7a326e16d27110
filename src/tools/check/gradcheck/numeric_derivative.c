#include "check/gradcheck/numeric_derivative.h"
#include <math.h>

/* Below this many differences an agreement may be luck. */
enum { FEWEST = 4 };

/* Two estimates that are further apart than so many times their errors cannot both be right. */
enum { CONTRADICTION = 8 };

void sweep_start(Sweep *s, int order) {
    *s = (Sweep){.order = order, .value = NAN, .error = INFINITY};
}

/* Whether the newest differences are those of a jump. */
static bool is_jump(Sweep *s, double difference, double before, double noise) {
    enum { EVIDENCE = 5, ABOVE_NOISE = 64 };
    bool doubles = fabs(difference - 2 * before) <= 0.01 * fabs(difference) &&
                   fabs(difference) > ABOVE_NOISE * noise;
    s->doubled = doubles ? s->doubled + 1 : 0;
    return s->doubled >= EVIDENCE;
}

void sweep_add(Sweep *s, double step, double difference, double noise) {
    double before = s->row[0], above = before, magnified = noise;
    double value = difference, error = INFINITY;
    int columns = s->levels < EXTRAPOLATIONS ? s->levels : EXTRAPOLATIONS - 1;
    s->row[0] = difference;
    s->noise = noise;
    for (int k = 1; k <= columns; k++) {
        double factor = (double)(1L << s->order * k), left = s->row[k - 1];
        double t = left + (left - above) / (factor - 1);
        double distance = fmax(fabs(t - left), fabs(t - above));
        magnified *= (factor + 1) / (factor - 1);
        above = s->row[k];
        s->row[k] = t;
        if (distance + magnified <= error) {
            value = t;
            error = distance + magnified;
        }
    }
    s->levels++;
    if (is_jump(s, difference, before, noise)) {
        s->value = NAN;
        s->error = INFINITY;
        return;
    }
    bool contradicts = fabs(value - s->value) > CONTRADICTION * (error + s->error);
    if (error > s->error && !contradicts) return;
    s->value = value;
    s->error = error;
    s->step = step;
}

bool sweep_settled(const Sweep *s, double relative) {
    return s->levels >= FEWEST &&
           (s->error <= relative * fabs(s->value) || s->error <= 4 * s->noise);
}
