/* A conversation with a language model, in the form of the text that it learned:
 *
 *     User: Who has the lamp?
 *     Bot: Anna has the lamp. */
#pragma once

#include "decoding/decode.h"
#include "decoding/saved_run.h"

typedef struct ChatOptions {
    const char *user, *bot; /* labels; NULL: those of the text that the run learned */
    Sampler sampler;
    long max_answer; /* tokens; 0: half a context, the maximum */
} ChatOptions;

/* Answers each line of stdin with a line of stdout, to the end, Ctrl-D or Ctrl-C. On a terminal
 * labels stand before the lines, in colours where it has them. Earlier lines are forgotten as far
 * as they do not fit into the context; an empty line forgets all. STATUS_USAGE: no labels. */
bool chat(Tape *tape, const SavedRun *run, const ChatOptions *o, Error *e);
