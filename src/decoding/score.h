/* The loss of a model on a text. */
#ifndef DECODING_SCORE_H
#define DECODING_SCORE_H

#include "decoding/saved_run.h"

/* -log P, in nats, of predicted tokens, and the characters that they stand for. */
typedef struct Score {
    double nats, characters;
    long tokens, pairs; /* pairs: of a seq2seq model */
} Score;

/* Scores the tokens ids[1 … n) of a language model's text: in windows side by side, as a validation. The inputs of a
 * window begin where those of the last one end. */
bool score_text(Tape *t, Model *m, const int32_t *ids, long n, double *nats, Error *e);

/* Scores a file: a text of a language model, without its first token; pairs of a seq2seq model, the targets with their
 * end token. STATUS_BAD_DATA, and the errors of file_read. */
bool score_file(Tape *t, const SavedRun *r, const char *path, Score *out, Error *e);

#endif
