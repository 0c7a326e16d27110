/* The pace of training on this machine: turns minutes into a number of steps. */
#ifndef TRAINING_PACE_H
#define TRAINING_PACE_H

#include "training/trainer.h"

/* The number of steps that fit into `seconds`, with an evaluation after each tenth of them; at least 10. Measures
 * the time of steps with learning rate 0: for a fortieth of the time, at least 3 steps. They leave the trainer as it
 * was. To be called after trainer_start, before the first step. 0 with the error if a step fails. */
long pace_steps(Trainer *t, double seconds, Error *e);

#endif
