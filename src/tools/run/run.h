/* The directory of a training run, whose files README.md lists, and the display of its progress. */
#pragma once

#include "base/file.h"
#include "run/pace.h"
#include "run/progress.h"
#include "run/samples.h"
#include "run/watch.h"
#include "training/checkpoint.h"
#include <math.h>

typedef struct Run {
    const TrainConfig *config;
    Trainer *trainer;
    Record record;
    off_t keep; /* bytes of the record that a resumed run keeps */
    Yardsticks yardsticks;
    Watch watch;
    const Pace *pace;
    long answers; /* decoded at the end */
    Progress bar;
    char warning[256];
    double train_loss; /* mean before the last evaluation */
    Evaluation last;   /* the last evaluation on the way … */
    long judged;       /* … and its step; -1: none in this process */
    char *word;        /* the directory, as a word of a command */
    File *place;       /* of the model, open until the run is closed: a lock on the directory */
    bool finished;     /* the directory holds the whole run: nothing is to be done */
    bool moved;        /* the directory was moved, and another is in its place */
    bool replaces;     /* the directory holds another run, and nothing of this one is saved yet */
    bool kept;         /* a checkpoint of this run exists */
    bool took_best;    /* at the end: overfitting */
    bool warns;        /* the warning is not recorded yet */
    double start, before;            /* time of the start, and seconds of the run before it */
    double training_seconds, tokens; /* in this process */
    double step_started;
    long steps_here; /* steps of this process */
    double saved;    /* time of the last checkpoint, on the clock of clock_seconds … */
    long saved_step; /* … and its step */
} Run;

/* Fails as run_open does if the directory holds another run or another process writes it: asked
 * before a text is read. */
bool run_is_free(const TrainConfig *config, const Checkpoint *past, Error *e);

/* Opens the directory so that writing errors show before training, and locks it. Continues from
 * `past`, which the trainer has restored, unless it is NULL; if that is finished, changes
 * nothing and sets `finished`. From here on a signal ends the training (base/interrupt.h).
 * STATUS_CANNOT_CREATE, STATUS_IO. To be closed with run_close, also after failure. */
bool run_open(Run *r, const TrainConfig *config, Trainer *t, const Yardsticks *yardsticks,
              const Checkpoint *past, Error *e);
void run_close(Run *r);

/* Before each step: saves a checkpoint if one is due. False: a signal has arrived. */
bool run_goes_on(Run *r);

/* After each step: shows the progress. */
void run_stepped(Run *r, const StepResult *step);

/* After each evaluation: saves the best weights, warns of overfitting, and, unless this is the
 * last step, records it and writes the page. False: the weights cannot be saved, with the error
 * of trainer_check. */
bool run_evaluated(Run *r, const Evaluation *v, Error *e);

/* Ends the training: saves model and checkpoint, also where an error ended it, and, unless
 * `trained` is false, makes the last evaluation, records that, writes the page, and shows the
 * result. */
bool run_finish(Run *r, bool trained, Error *e);

/* ---- The files: run_files.c ---- */

/* False with an error if another directory has taken the place of the run's own, to which then
 * nothing is written. run_path_of gives the path of a file in it, run_has says whether it has
 * this file. */
bool run_keeps_folder(Run *r, Error *e);
bool run_path_of(Run *r, const char *name, char out[PATH_CAPACITY], Error *e);
bool run_has(Run *r, const char *name);

/* True if the directory holds no run, the one to continue, or one to replace. Is called again
 * once the directory is locked: another process may have saved before. */
bool run_may_take(Run *r, const Checkpoint *past, Error *e);

/* Tries to open as many files as a save needs, beside those that stay open. */
bool run_can_open_files(const Run *r, Error *e);

/* run_save_as saves the weights under a name, run_save_checkpoint the checkpoint. run_save ends
 * a run: it saves both, and makes a deleted directory again. The model has the best weights if
 * the run overfitted and no error stopped it. */
bool run_save_as(Run *r, const char *name, Error *e);
bool run_save_checkpoint(Run *r, Error *e);
bool run_save(Run *r, bool trained, Error *e);

/* Removes temporary files that a killed process has left; that of the model is the lock, once it
 * is taken. */
void run_remove_leftovers(Run *r);

/* Makes the last evaluation, and in a task with answers decodes them; *exact is the share without
 * error. At most a tenth of the time of --minutes is for each; without it at most a million tokens,
 * unless --evaluate-all is given. On stderr are the progress and the number of rows, unless all are
 * judged. A signal ends the evaluation within a micro-batch. */
bool run_evaluate_last(Run *r, Evaluation *v, double *exact, Error *e);

/* Whether the last evaluation is worse than the best one by more than noise: 0.02 nats a token, and
 * twice its standard error, which is large where few tokens are held out. */
static inline bool run_is_worse(const Run *r, const Evaluation *v) {
    return v->loss > r->trainer->state.best_loss + fmax(0.02, 2 * v->error);
}

/* True if the model trains on a fixed text or list of pairs, of which a part is held out. */
static inline bool run_can_overfit(const Task *task) {
    return task->checksum && !task->nothing_held_out;
}

/* Evaluates the last step, if it has not been, on the rows of the evaluations before it. */
bool run_judge(Run *r, Error *e);

/* Whether the task is a text of characters that can be counted. */
static inline bool run_is_of_text(const Run *r) {
    return r->trainer->task->characters > 0;
}

/* A held-out loss in nats per token as it is shown: per character, if the task is a text. */
static inline double run_shown_loss(const Run *r, double loss) {
    return loss / (run_is_of_text(r) ? r->trainer->task->characters : 1);
}

/* Peak bytes of this process once it has allocated `arrays` bytes and uses all its threads: current
 * use (code, libraries, the task's data), the threads' own memory, and `arrays`. */
size_t run_footprint(size_t arrays);

/* Prints the model's size, the memory that its training takes, and for a text what was chosen to
 * fit it. */
void run_describe(FILE *out, const Task *task, const TrainConfig *r, const Model *m, size_t bytes);
