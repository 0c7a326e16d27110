/* Answers of a trained model to held-out sources. */
#pragma once

#include "training/trainer.h"

/* Decodes greedy answers to *rows held-out sources (0: all), evenly spread, or of a language model
 * to the questions of a text's conversations. *exact is the share without error. The watch (NULL:
 * none) may end it early. *rows becomes their number. */
bool samples_answers(Trainer *t, long *rows, const EvaluationWatch *watch, double *exact, Error *e);

/* Runs a model on a source, of S tokens, which a language model does not have, and on a target:
 * [T, vocab_size]. The caller resets the tape. NULL: the error. */
Tensor *samples_logits(Tape *t, Model *m, const int32_t *source, long S, const int32_t *target,
                       long T, Trace *trace, Error *e);
