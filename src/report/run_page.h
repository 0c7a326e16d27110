/* RUN/report.html: what a training run has come to, as a page that is renewed at every evaluation. */
#ifndef REPORT_RUN_PAGE_H
#define REPORT_RUN_PAGE_H

#include "report/metrics.h"
#include "report/page.h"
#include "training/trainer.h"

typedef struct RunPage RunPage;

/* What the page cannot know from the trainer; all of it stays the caller's and has to stay. */
typedef struct RunPageFacts {
    const char *directory; /* the run's, where report.html goes */
    const char *command;   /* that repeats the run */
    long steps;            /* that it is to take */
    const PageFact *fact;  /* [facts]: how it is trained */
    int facts;
} RunPageFacts;

/* Starts a page, without writing one. The trainer has been started. NULL: STATUS_CANNOT_CREATE, STATUS_NO_MEMORY. */
RunPage *run_page_new(const RunPageFacts *facts, Trainer *t, Error *e);

/* Notes a step of training, which took so many seconds. */
void run_page_step(RunPage *p, long step, const StepResult *r, double seconds);

/* Notes an evaluation, looks at attention and answers, and renews the file. All of this leaves the training as it is,
 * and takes a small share of its time at most: where it took more, evaluations are passed over, though not the last. */
bool run_page_evaluation(RunPage *p, const Metrics *m, Error *e);

/* The file. */
const char *run_page_path(const RunPage *p);

void run_page_free(RunPage *p);

#endif
