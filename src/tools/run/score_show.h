/* Prints a score, and shows it: each token of a text in a shade of its loss, and behind each
 * line the line's loss in nats a character; or the pairs that greedy
 * decoding answers wrongly. */
#pragma once

#include "decoding/score.h"

typedef struct ScoreOptions {
    const char *file;
    bool show; /* on stdout: with colours if it is a terminal, and otherwise as "token{loss}" */
    const char *page; /* the same as HTML in this file; NULL: none */
} ScoreOptions;

/* Scores the file and `files` more, as one. */
bool score_show(Tape *t, const SavedRun *r, const ScoreOptions *o, char *const *more, int files,
                Error *e);
