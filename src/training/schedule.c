#include "training/schedule.h"
#include <math.h>

double schedule_rate(const Schedule *s, long step) {
    double at = (double)step, warmup = (double)s->warmup;
    switch (s->kind) {
    case SCHEDULE_NOAM: {
        double growing = warmup > 0 ? at * pow(warmup, -1.5) : INFINITY;
        return s->rate * pow(s->d_model, -0.5) * fmin(pow(at, -0.5), growing);
    }
    case SCHEDULE_COSINE:
        if (step <= s->warmup) return s->rate * at / (warmup + 1);
        if (step > s->steps) return s->min_rate;
        return s->min_rate +
               0.5 * (s->rate - s->min_rate) *
                   (1 + cos(3.14159265358979323846 * (at - 1 - warmup) / ((double)s->steps - warmup)));
    case SCHEDULE_LINEAR: {
        double left = fmax(0, ((double)s->steps + 1 - at) / (s->decay * (double)s->steps));
        double falling = s->min_rate + (s->rate - s->min_rate) * fmin(1, left);
        return fmin(s->rate * fmin(1, at / (warmup + 1)), falling);
    }
    case SCHEDULE_CONSTANT: break;
    }
    return s->rate;
}
