/* Looks at a few held-out rows of a run: keeps attention and answers at some evaluations, in RUN/frames.safetensors and
 * RUN/report.html. */
#pragma once

#include "run/frames.h"
#include "tasks/yardsticks.h"
#include "training/train_config.h"

enum {
    WATCHED_TOKENS = 64, /* of a row */
    WATCHED_ANSWER = 68, /* tokens of an answer */
    /* The sum over all examples at one step: the page draws and prints each weight. */
    WATCHED_WEIGHTS = 40000,
};

typedef struct Watch {
    const TrainConfig *config;
    Trainer *trainer;
    Frames frames;
    Yardsticks yardsticks;
    double spent; /* seconds that looks took */
} Watch;

/* Chooses the rows of a run whose trainer has been started, and takes the frames up to this step of a run to resume. The
 * arguments must outlive the watch, which is closed, also after failure, with watch_close. STATUS_NO_MEMORY. */
bool watch_open(Watch *w, const TrainConfig *r, Trainer *t, Error *e);
void watch_close(Watch *w);

/* Computes attention and answers as a new frame. */
bool watch_look(Watch *w, Error *e);

/* Looks, and writes both files; `remark` is for the page's top, and the run began `seconds` ago. Does nothing if that has
 * taken much of the time so far, unless this is the last look. Does not change the training. STATUS_CANNOT_CREATE, STATUS_IO,
 * STATUS_NO_MEMORY. */
bool watch_report(Watch *w, double seconds, const char *remark, bool last, Error *e);

/* "The training loss is with dropout 0.1, the held-out loss without."; "" if both are the same function. Returns out. */
enum { LOSS_REMARK = 128 };
const char *watch_loss_remark(char out[LOSS_REMARK], const TrainConfig *r);

/* "text: 1,115,216 characters, 5,965 different; bpe 4096 (1.42 characters a token); 0.9 passes; dropout 0"; "" for a task that
 * has no text. Returns out. */
enum { TEXT_LINE = 200 };
const char *run_text_line(char out[TEXT_LINE], const Task *task, const TrainConfig *r);
