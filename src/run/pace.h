/* --minutes: the number of steps that fit into a time which ends with the last sample and file. It is measured before the
 * training, and again whenever half of the steps left are made. Another number is written into the schedule's plans. */
#pragma once

#include "training/train_config.h"
#include "training/trainer.h"

enum { PLANS_TEXT = 480 };

typedef struct Pace {
    double end;           /* on the clock of clock_seconds; 0: the number of steps is given */
    double step;          /* seconds of a step */
    double evaluation;    /* of an evaluation on the way */
    double after;         /* of what follows the last step */
    double step_at_first; /* seconds of a step when `after` was measured */
    double last, next;    /* times at which the last step ended, and the steps are counted again */
    double slack;         /* seconds by which the plan may miss the end */
    long made;            /* steps since pace_start */
    char plans[PLANS_TEXT];
} Pace;

/* About the tokens that a language model of this configuration reads in --minutes, by the speed of its matrix products: what
 * the choice of its tokens needs, which comes before anything can be trained. 0: no memory. */
double pace_tokens(const TrainConfig *c);

/* Measures a trainer that is started, with steps of learning rate 0, for `seconds` and at least 3 of them; they leave the
 * trainer as it was, but forget moments. Then evaluations and what follows the last step; o: the options of the task if
 * samples follow, or NULL. STATUS_NO_MEMORY. */
bool pace_measure(Pace *p, Trainer *t, double seconds, Error *e);
bool pace_measure_rest(Pace *p, Trainer *t, const TaskOptions *o, Error *e);

/* The steps that fit into the time left, after those made: at least 10. eval_every: as Trainer's; 0: a tenth of them. */
long pace_steps(const Pace *p, double now, long made, long eval_every);

/* Before the first step of a trainer that has its number of steps. */
void pace_start(Pace *p, double now);

/* After an evaluation that took so long. */
void pace_evaluated(Pace *p, double seconds);

/* After a step: the trainer may get another number of steps. */
void pace_follow(Pace *p, Trainer *t, double now);
