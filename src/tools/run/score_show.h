/* The score of files, printed. */
#pragma once

#include "decoding/score.h"

/* Prints the score of files, all as one. With `show` also prints each token of a text in a shade of
 * its loss on a terminal, elsewhere as "token{loss}", and behind each line the line's loss in nats
 * a character; of pairs those that greedy decoding answers wrongly. */
bool score_show(Tape *t, const SavedRun *r, char *const *file, int files, bool show, Error *e);
