/* The loss of a model on a text. */
#pragma once

#include "decoding/saved_run.h"

/* -log P, in nats, of predicted tokens, and the characters that they stand for. */
typedef struct Score {
    double nats, characters;
    long tokens, lines;
    long pairs, exact; /* seq2seq: pairs, and those of them that greedy decoding answers exactly */
} Score;

/* Callbacks; each may be NULL. `judged` gets the number of rows of a file that are judged, and of
 * all. `token` gets each token of a text, in order, with its loss (of the first token: NAN). `pair`
 * gets the texts of each pair, with its greedy answer. */
typedef struct ScoreListener {
    void (*judged)(void *context, long rows, long all);
    void (*token)(void *context, int32_t id, double nats);
    void (*pair)(void *context, const char *source, const char *target, const char *answer,
                 bool exact);
    void *context;
} ScoreListener;

/* Adds the score of a file. A language model predicts the text without its first token, in adjacent
 * windows, as in validation, or the lines of the text. A seq2seq model predicts the targets of
 * pairs, with their end tokens. STATUS_BAD_DATA, and the errors of file_read. */
bool score_file(Tape *t, const SavedRun *r, const char *path, const ScoreListener *l, Score *out,
                Error *e);

/* Prints a line with the loss a character or byte; of pairs, also how many are answered exactly. */
void score_print(const Score *s, const SavedRun *r, FILE *out);
