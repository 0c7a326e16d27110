/* RUN/report.html: what a training run has come to, as a page that is renewed at every evaluation. */
#ifndef REPORT_RUN_PAGE_H
#define REPORT_RUN_PAGE_H

#include "run/metrics.h"
#include "run/page.h"
#include "training/train_config.h"

typedef struct RunPage RunPage;

/* Starts the page of this run, without writing one. The trainer has been started; `past` steps were taken before, and
 * what metrics.csv says of them is noted. What is given stays the caller's and has to stay. NULL: STATUS_CANNOT_CREATE,
 * STATUS_NO_MEMORY. */
RunPage *run_page_new(const TrainConfig *r, Trainer *t, long past, Error *e);

/* Notes a step of training, which took so many seconds. */
void run_page_step(RunPage *p, long step, const StepResult *r, double seconds);

/* Notes an evaluation, looks at attention and answers, and renews the file. All of this leaves the training as it is,
 * and takes a small share of its time at most: where it took more, evaluations are passed over, though not the last. */
bool run_page_evaluation(RunPage *p, const Metrics *m, Error *e);

/* The file. */
const char *run_page_path(const RunPage *p);

void run_page_free(RunPage *p);

#endif
