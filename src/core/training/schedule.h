/* Learning-rate schedules: the kinds are in schedule.c, each with its formula, and in
 * ALL_SCHEDULES. */
#pragma once

#include "base/choice.h"
#include "base/error.h"
#include <stdbool.h>

typedef struct Schedule Schedule;

typedef struct ScheduleKind {
    Choice choice;
    double (*rate)(const Schedule *s, double step);
    bool falls;  /* reads min_rate and steps */
    bool scales; /* its rate is a factor, usually 1 */
} ScheduleKind;

#define ALL_SCHEDULES(KIND) KIND(noam) KIND(cosine) KIND(constant) KIND(linear)
#define SCHEDULE_OF(name)   extern const ScheduleKind schedule_##name;
ALL_SCHEDULES(SCHEDULE_OF)
extern const Choice *const all_schedules[];

struct Schedule {
    const ScheduleKind *kind;
    double rate;     /* noam: a factor; cosine, linear: the peak; constant: the rate */
    double min_rate; /* the final rate */
    long warmup;     /* steps of linear warm-up */
    long steps;      /* total steps */
    int d_model;     /* noam */
};

/* The learning rate at step s = 1, 2, …. */
double schedule_rate(const Schedule *s, long step);
