/* RUN/frames.safetensors and RUN/report.html, written again at evaluations. */
#ifndef RUN_RUN_FRAMES_H
#define RUN_RUN_FRAMES_H

#include "base/directory.h"
#include "run/watch.h"
#include "tasks/yardsticks.h"
#include "training/train_config.h"

/* "text: 1,115,216 characters, 5,965 different; bpe 4096 (1.42 characters a token); 0.9 passes; dropout 0"; "" for a task that
 * has no text. Returns out. */
enum { TEXT_LINE = 200 };
const char *run_text_line(char out[TEXT_LINE], const Task *task, const TrainConfig *r);

typedef struct RunFrames {
    const TrainConfig *config;
    Trainer *trainer;
    Watch watch;
    double spent; /* seconds spent on frames and page, of which there are few */

    /* Notes. Those of the first line change with the number of steps. */
    long noted_steps;
    char *command, steps[24], text[TEXT_LINE];
    ConfigNotes options;
    char *vocabulary, loss[128], begin_id[16], end_id[16], characters[32], unknown[32];
    Yardsticks yardsticks;
    char yardstick[YARDSTICKS][64], value[YARDSTICKS][32];
} RunFrames;

/* Prepares the frames of a run whose trainer has been started. The arguments must outlive them. To be closed, also after
 * failure, with run_frames_close. STATUS_NO_MEMORY. */
bool run_frames_open(RunFrames *f, const TrainConfig *r, Trainer *t, Error *e);
void run_frames_close(RunFrames *f);

/* Looks at the model at this step of a run that began `seconds` ago, and rewrites both files; `remark` is for the page's
 * top. Does nothing if that has taken much of the time so far, unless this is the last look. Does not change the
 * training. STATUS_CANNOT_CREATE, STATUS_IO, STATUS_NO_MEMORY. */
bool run_frames_look(RunFrames *f, long step, double seconds, const char *remark, bool last, Error *e);

#endif
