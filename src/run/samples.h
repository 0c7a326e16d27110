/* What a trained model says of its own accord: answers to held-out sources, compared with the right ones, and
 * text. */
#ifndef REPORT_SAMPLES_H
#define REPORT_SAMPLES_H

#include "training/trainer.h"

/* Greedy answers to the first `rows` held-out sources (0: all) of a task that has sources, decoded from the
 * model's own output and not the right answer's beginning; *exact is the share without a mistake. `show`
 * prints each beside its source on stderr. */
bool samples_answers(Trainer *t, long rows, bool show, double *exact, Error *e);

/* Prints on stderr how a language model goes on with the first characters of the text that judges it. */
bool samples_text(Trainer *t, Error *e);

/* Prints on stderr what losses that text allows to those who know only how often each character, or pair of
 * characters, stands in it. */
bool samples_yardsticks(const Trainer *t, Error *e);

#endif
