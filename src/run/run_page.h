/* RUN/report.html: the run as a page, rewritten at evaluations. */
#ifndef RUN_RUN_PAGE_H
#define RUN_RUN_PAGE_H

#include "run/metrics.h"
#include "run/page.h"
#include "training/train_config.h"

typedef struct RunPage RunPage;

/* Prepares the page of a run whose trainer has been started. After `past` steps it reads the rows of
 * metrics.csv. The arguments must outlive the page. NULL: STATUS_CANNOT_CREATE, STATUS_NO_MEMORY. */
RunPage *run_page_new(const TrainConfig *r, Trainer *t, long past, Error *e);

/* Adds a training step and its seconds. */
void run_page_step(RunPage *p, long step, const StepResult *r, double seconds);

/* Adds an evaluation and, if the page has taken little time so far or the evaluation is the last, computes
 * attention and answers and rewrites the file. Does not change the training. */
bool run_page_evaluation(RunPage *p, const Metrics *m, Error *e);

/* The file. */
const char *run_page_path(const RunPage *p);

void run_page_free(RunPage *p);

#endif
