/* Learning-rate schedules. */
#ifndef TRAINING_SCHEDULE_H
#define TRAINING_SCHEDULE_H

typedef enum ScheduleKind { SCHEDULE_NOAM, SCHEDULE_COSINE, SCHEDULE_CONSTANT, SCHEDULE_LINEAR } ScheduleKind;

typedef struct Schedule {
    ScheduleKind kind;
    double rate;     /* noam: a factor; cosine, linear: the peak; constant: the rate */
    double min_rate; /* cosine, linear: the final rate */
    double decay;    /* linear: share of the steps over which the rate falls */
    long warmup;     /* steps of linear warm-up; not for constant */
    long steps;      /* cosine, linear: total steps */
    int d_model;     /* noam */
} Schedule;

/* The learning rate at step s = 1, 2, ….
 *
 *     noam      rate · d_model^-½ · min(s^-½, s · warmup^-3/2)          section 5.3, equation 3
 *     cosine    rate · s / (warmup + 1)                                 for s <= warmup, then
 *               min + ½ (rate - min) (1 + cos(π (s - 1 - warmup) / (steps - warmup)))
 *     constant  rate
 *     linear    rate · s / (warmup + 1)                                 for s <= warmup, then rate, and at last
 *               min + (rate - min) (steps + 1 - s) / (decay · steps) */
double schedule_rate(const Schedule *s, long step);

#endif
