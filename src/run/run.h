/* A training run as a folder and as what a person sees of it:
 *
 *     model.safetensors       the weights at the end, for ./generate
 *     best.safetensors        those with the lowest held-out loss on the way
 *     checkpoint.safetensors  all that --resume needs: training/checkpoint.h
 *     metrics.csv             a row an evaluation: report/metrics.h
 *     report.html             what can be seen of all that: report/run_page.h */
#ifndef REPORT_RUN_H
#define REPORT_RUN_H

#include "base/file.h"
#include "run/metrics.h"
#include "run/progress.h"
#include "run/run_page.h"
#include "training/checkpoint.h"

typedef struct Run {
    const Recipe *recipe;
    Trainer *trainer;
    RunState state;
    Metrics metrics;
    MetricsFile file;
    RunPage *page;
    Progress bar;
    Report report;
    char loss[64], val_loss[64];
    File *place;             /* of the model, held until the run is closed: who holds it has the folder */
    bool moved;              /* that folder, and another is in its place: another's */
    bool replaces;           /* another run is in the folder, and nothing of this one was saved yet */
    double training_seconds; /* in this process */
    double step_started;
    long steps_here; /* taken in this process */
    double saved;    /* when the last checkpoint was written, on the clock of clock_seconds … */
    long saved_step; /* … and at which step */
    bool kept;       /* a checkpoint of this run exists */
} Run;

/* Takes the folder: whatever there is against writing it shows before training and not after, and no other run can take
 * it meanwhile. Goes on from `past`, whose state the trainer has, where it is not NULL. From here on signals ask the run
 * to end. STATUS_CANNOT_CREATE, STATUS_IO. To be closed with run_close, also after failure. */
bool run_open(Run *r, const Recipe *recipe, Trainer *t, const Checkpoint *past, Error *e);
bool run_close(Run *r, Error *e);

/* True while there are steps to take and nobody asked for the end. */
bool run_goes_on(const Run *r);

/* Around a step. */
void run_begin_step(Run *r);
void run_end_step(Run *r, const StepResult *step);

/* An evaluation is due, and then what it found: a row of metrics; the best model yet is kept, or, as of a checkpoint, it is
 * said that it cannot be. */
bool run_evaluation_due(const Run *r);
bool run_evaluated(Run *r, const Evaluation *v, Error *e);

/* A checkpoint, where one is due. One that cannot be written is said on stderr; the run goes on. */
void run_checkpoint(Run *r);

/* The bar's last line. Returns ok. */
bool run_end_training(Run *r, bool ok);

/* False: no step was taken, and another run is in the folder, which is worth more than weights that have learned nothing. */
bool run_has_learned(const Run *r);

/* Saves model and checkpoint, in a new folder where that was deleted. STATUS_NON_FINITE: a weight is not finite, and
 * nothing is written. */
bool run_save(Run *r, Error *e);

/* The last row, of all that is held out and, where a task has them, answers; and for a person what the run came to. */
bool run_finish(Run *r, const Evaluation *v, Error *e);

/* What is trained, and the memory that it takes. */
void run_describe(FILE *out, const Task *task, const Model *m, size_t bytes);

#endif
