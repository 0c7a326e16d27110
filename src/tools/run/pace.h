/* --minutes: the number of steps that fit into a time. The speed is measured before the training,
 * and the number follows. At most a tenth of the time is for the last evaluation. */
#pragma once

#include "training/train_config.h"
#include "training/trainer.h"

typedef struct Pace {
    double end;        /* on the clock of clock_seconds; 0: the number of steps is given */
    double budget;     /* seconds of the last evaluation at most */
    double step;       /* seconds of a step */
    double evaluation; /* of an evaluation on the way */
    double row;        /* of a held-out row in the last evaluation */
    double answer;     /* of a decoded answer; 0: the task has none */
} Pace;

/* The pace of a run that began at `began`; minutes 0: it has a number of steps. */
Pace pace_of(double began, double minutes);

/* About the tokens that a language model of this configuration reads in --minutes, by the speed of
 * its matrix products: what the choice of its tokens needs, which comes before anything can be
 * trained. 0: no memory. */
double pace_tokens(const TrainConfig *c);

/* Measures a trainer that is started, with steps of learning rate 0, for `seconds` and at least 3
 * of them; they leave the trainer as it was, but forget moments. Then an evaluation and some
 * answers. STATUS_NO_MEMORY. */
bool pace_measure(Pace *p, Trainer *t, double seconds, Error *e);
bool pace_measure_rest(Pace *p, Trainer *t, Error *e);

/* The steps that fit into the time left, at least 10, and those made before. eval_every: as
 * Trainer's; 0: a tenth of them. */
long pace_steps(const Pace *p, const Task *task, double now, long made, long eval_every);

/* Whether the time is over. */
bool pace_is_late(const Pace *p, double now);

/* Held-out rows that the last evaluation judges, of which each takes `seconds`: all, or as many as
 * fit into its time; without --minutes those of a million tokens. */
long pace_rows(const Pace *p, const Task *task, double seconds);
