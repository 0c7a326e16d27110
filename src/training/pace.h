/* The pace of training on this machine: turns minutes into a number of steps. */
#ifndef TRAINING_PACE_H
#define TRAINING_PACE_H

#include "training/trainer.h"

/* How many steps fit into so many seconds, with an evaluation after each tenth of them; at least 10. Measured by steps at a
 * rate of 0, for a fortieth of the time and at least 3, which leave the trainer as it was: to be called after
 * trainer_start, before the first step. 0 with the error if a step fails. */
long pace_steps(Trainer *t, double seconds, Error *e);

#endif
