/* Looks at a few held-out rows of a run, and records attention, answers, generated text and what
 * each token cost. */
#pragma once

#include "run/record.h"
#include "tasks/yardsticks.h"
#include "training/train_config.h"

enum { WATCHED_ROWS = 6, WATCHED_TOKENS = 64, WATCHED_WEIGHTS = 12000 /* of a look, at most */ };

/* A held-out row: source and decoder input with the token that follows each; S is 0 in a text. */
typedef struct WatchedRow {
    int32_t source[WATCHED_TOKENS], input[WATCHED_TOKENS], wanted[WATCHED_TOKENS];
    long S, T;
    long attention; /* tokens of the input whose attention is recorded; 0: none */
} WatchedRow;

typedef struct Watch {
    const TrainConfig *config;
    Trainer *trainer;
    Record *record;
    WatchedRow row[WATCHED_ROWS];
    int rows;
    long attention_due; /* step from which attention is recorded again */
    double spent;       /* seconds that looks took */
} Watch;

/* Chooses the rows of a run whose trainer has been started. The arguments must outlive the
 * watch. */
Watch watch_open(const TrainConfig *c, Trainer *t, Record *r);

/* Looks, if that has not taken much of the `seconds` since the start, or if this is the last
 * look. Shows a sample on stderr, of the last look all. Does not change the training.
 * STATUS_NO_MEMORY. */
bool watch_look(Watch *w, double seconds, bool is_last, Error *e);
