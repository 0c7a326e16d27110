/* Samples of a trained model: greedy answers to held-out sources, and text. */
#pragma once

#include "training/trainer.h"

/* Decodes greedy answers to `rows` held-out sources (0: all), evenly spread; *exact is the share
 * without error. `show` takes the first ones, and prints each beside its source on stderr. */
bool samples_answers(Trainer *t, long rows, bool show, double *exact, Error *e);

/* Tokens of a text, at most. */
enum { MAX_SAMPLE = 300 };

/* Tokens of the text that samples_text writes. */
long samples_text_tokens(const Task *task);

/* Prints lines that a language model of lines writes. */
bool samples_lines(Trainer *t, long lines, Error *e);

/* Prints a text that a language model writes, about 400 characters, to the end of a sentence. */
bool samples_text(Trainer *t, Error *e);

/* Runs a model on a source, of S tokens, which a language model does not have, and on a target:
 * [T, vocab_size]. The caller resets the tape. NULL: the error. */
Tensor *samples_logits(Tape *t, Model *m, const int32_t *source, long S, const int32_t *target,
                       long T, Trace *trace, Error *e);
