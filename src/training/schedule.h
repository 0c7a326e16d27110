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
    bool falls;  /* reads min_rate, steps and plans */
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
    /* "300:534,400:500": 534 steps were planned until step 300, then 500 until step 400, and now
     * `steps`. Each plan goes faster or slower through what is left of the first one's rates. NULL
     * or "": `steps` is the only plan. */
    const char *plans;
    int d_model; /* noam */
};

/* The learning rate at step s = 1, 2, …. */
double schedule_rate(const Schedule *s, long step);

/* STATUS_USAGE: the plans are no such list. */
bool schedule_check_plans(const Schedule *s, Error *e);
