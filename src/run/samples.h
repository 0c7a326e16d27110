/* Samples of a trained model: greedy answers to held-out sources, and text. */
#ifndef RUN_SAMPLES_H
#define RUN_SAMPLES_H

#include "training/trainer.h"

/* Decodes greedy answers to the first `rows` held-out sources (0: all); *exact is the share without error.
 * `show` prints each beside its source on stderr. */
bool samples_answers(Trainer *t, long rows, bool show, double *exact, Error *e);

/* Prints a text that a language model continues from the first held-out characters. */
bool samples_text(Trainer *t, Error *e);

/* Prints the losses to compare a language model's with: tasks/text_task.h. */
bool samples_yardsticks(const Trainer *t, Error *e);

#endif
