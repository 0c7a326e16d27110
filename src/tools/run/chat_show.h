/* A conversation in the terminal, or over a pipe: ./generate RUN --chat. */
#pragma once

#include "decoding/chat.h"
#include "decoding/saved_run.h"

typedef struct ChatOptions {
    const char *user, *bot; /* labels; NULL: those of the text that the run learned */
    Sampler sampler;
    long max_answer; /* tokens; 0: half a context */
} ChatOptions;

/* Answers line after line to the end, Ctrl-D or Ctrl-C, each answer a line of stdout. On a terminal
 * labels stand before the lines, in colours where it has them. An empty line begins another
 * conversation. STATUS_USAGE: the run has no labels. */
bool chat_show(Tape *tape, const SavedRun *run, const ChatOptions *o, Error *e);
