/* RUN/report.html: the run as a page, rewritten at evaluations. */
#ifndef RUN_RUN_PAGE_H
#define RUN_RUN_PAGE_H

#include "run/metrics.h"
#include "run/run_curves.h"
#include "run/watch.h"
#include "training/train_config.h"

enum { RUN_FIGURES = 9, RUN_FIGURE_TEXT = 48, RUN_LINE = 512 };

typedef struct RunPage {
    const TrainConfig *config;
    Trainer *trainer;
    char *command; /* that repeats the run */
    ConfigNotes options;
    char path[PATH_ROOM]; /* of the file */
    RunCurves curves;
    Watch watch;
    double spent; /* seconds spent on the page */

    /* The page as it is written, and the texts that it points into. */
    Page page;
    RunPictures pictures;
    PageFact figure[RUN_FIGURES], option[TRAIN_SETTINGS];
    char figure_text[RUN_FIGURES][RUN_FIGURE_TEXT], title[RUN_LINE], status[RUN_LINE];
} RunPage;

/* Prepares the page of a run whose trainer has been started; *p is {0} before. The arguments must outlive the page.
 * The caller calls run_page_close, also after a failure. STATUS_CANNOT_CREATE, STATUS_NO_MEMORY. */
bool run_page_open(RunPage *p, const TrainConfig *r, Trainer *t, Error *e);
void run_page_close(RunPage *p);

/* Adds a row of metrics.csv of a run that continues. */
void run_page_past(void *page, const Metrics *m);

/* Adds a training step and its seconds. */
void run_page_step(RunPage *p, long step, const StepResult *r, double seconds);

/* Adds an evaluation and, if the page has taken little time so far or the evaluation is the last, computes
 * attention and answers and rewrites the file. Does not change the training. */
bool run_page_evaluation(RunPage *p, const Metrics *m, Error *e);

#endif
