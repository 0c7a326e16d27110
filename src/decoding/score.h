/* The loss of a model on a text. */
#pragma once

#include "decoding/saved_run.h"
#include "tasks/pairs.h"

/* -log P, in nats, of predicted tokens, and the characters that they stand for. */
typedef struct Score {
    double nats, characters, known; /* known: characters that [UNK] does not stand for */
    long tokens, lines;
    long pairs, exact; /* seq2seq: pairs, and those of them that greedy decoding answers exactly */
} Score;

/* Hears of each token of a text, in order, with its loss (of the first: NAN), or of each pair with
 * the greedy answer. */
typedef struct ScoreListener {
    void (*token)(void *context, int32_t id, double nats);
    void (*pair)(void *context, const Pair *p, const char *answer, bool exact);
    void *context;
} ScoreListener;

/* Adds the score of a file. Language model: the text without its first token, in windows side by
 * side, as a validation: the inputs of a window begin where those of the last one end; or its
 * lines. Seq2seq: the targets of pairs, with their end tokens. STATUS_BAD_DATA, and the errors of
 * file_read. */
bool score_file(Tape *t, const SavedRun *r, const char *path, const ScoreListener *l, Score *out,
                Error *e);

/* Prints a line, for a text in nats a character where [UNK] leaves none out. */
void score_print(const Score *s, bool text, FILE *out);
