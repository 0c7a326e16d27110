#include "training/schedule.h"
#include <math.h>
#include <stddef.h>

#define SCHEDULE(name) &schedule_##name.choice,
const Choice *const all_schedules[] = {ALL_SCHEDULES(SCHEDULE) NULL};

double schedule_rate(const Schedule *s, long step) {
    WANT(s);
    WANT(s->kind);
    return s->kind->rate(s, (double)step);
}

/* rate · d_model^-½ · min(step^-½, step · warmup^-3/2): section 5.3, equation 3 */
static double noam(const Schedule *s, double at) {
    double warmup = (double)s->warmup;
    double growing = warmup > 0 ? at * pow(warmup, -1.5) : INFINITY;
    return s->rate * pow(s->d_model, -0.5) * fmin(pow(at, -0.5), growing);
}

const ScheduleKind schedule_noam = {{"noam", "warmup"}, noam, .scales = true};

/* rate · step / (warmup + 1)      for step <= warmup, then
 * min + ½ (rate - min) (1 + cos(π (step - 1 - warmup) / (steps - warmup))) */
static double cosine(const Schedule *s, double at) {
    double warmup = (double)s->warmup;
    if (at <= warmup) return s->rate * at / (warmup + 1);
    if (at > (double)s->steps) return s->min_rate;
    return s->min_rate +
           0.5 * (s->rate - s->min_rate) *
               (1 + cos(3.14159265358979323846 * (at - 1 - warmup) / ((double)s->steps - warmup)));
}

const ScheduleKind schedule_cosine = {{"cosine", "warmup min-lr"}, cosine, .falls = true};

static double constant(const Schedule *s, double at) {
    (void)at;
    return s->rate;
}

const ScheduleKind schedule_constant = {{"constant"}, constant};

/* The share of the steps over which the linear schedule falls. */
static const double linear_decay = 0.7;

/* rate · step / (warmup + 1)      for step <= warmup, then rate, and at last
 * min + (rate - min) (steps + 1 - step) / (decay · steps) */
static double linear(const Schedule *s, double at) {
    double warmup = (double)s->warmup;
    double left = fmax(0, ((double)s->steps + 1 - at) / (linear_decay * (double)s->steps));
    double falling = s->min_rate + (s->rate - s->min_rate) * fmin(1, left);
    return fmin(s->rate * fmin(1, at / (warmup + 1)), falling);
}

const ScheduleKind schedule_linear = {{"linear", "warmup min-lr"}, linear, .falls = true};
