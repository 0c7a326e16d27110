/* The last evaluation of a run: of all held-out rows, or of as many as its time allows, evenly
 * spread. */
#include "base/clock.h"
#include "base/interrupt.h"
#include "run/run.h"
#include <stdio.h>

typedef struct Watching {
    Progress bar;
    Report report;
    double start;
    bool was_stopped; /* a signal had ended the training */
} Watching;

/* Shows the progress of an evaluation that takes long. False: a signal has arrived. */
static bool goes_on(void *watching, long judged) {
    enum { SECONDS = 2 };
    Watching *w = watching;
    double seconds = clock_seconds() - w->start;
    w->report.done = judged;
    w->report.rate = (double)judged / seconds;
    if (seconds > SECONDS) progress_show(&w->bar, &w->report);
    return w->was_stopped || !interrupt_signal();
}

static void say_rows(const Run *r, long judged) {
    char part[NUMBER_TEXT], all[NUMBER_TEXT];
    const Task *task = r->trainer->task;
    if (r->config->quiet || judged == task->held_out) return;
    const char *windows = task->max_S ? "pairs" : "windows";
    fprintf(stderr, "judged %s of %s held-out %s, evenly spread; --evaluate-all judges all\n",
            number_text(part, judged), number_text(all, task->held_out),
            task->lines ? "lines" : windows);
}

bool run_evaluate_last(Run *r, Evaluation *v, Error *e) {
    const Task *task = r->trainer->task;
    const char *label = "last evaluation";
    long rows = task->held_out;
    if (!r->config->evaluate_all) rows = pace_rows(r->pace, task, r->pace->row);
    Watching w = {.bar = progress_start(label, rows, r->config->quiet),
                  .report = {.words = "", .more = "", .unit = "rows/s"},
                  .start = clock_seconds(),
                  .was_stopped = interrupt_signal()};
    EvaluationWatch watch = {goes_on, &w};
    bool ok = trainer_evaluate_watched(r->trainer, rows, &watch, v, e);
    progress_clear(&w.bar);
    r->is_cut_off = ok && v->rows < rows;
    if (ok) say_rows(r, v->rows);
    return ok;
}

bool run_answer_last(Run *r, double *exact, Error *e) {
    r->answers = r->trainer->task->held_out;
    if (!r->config->evaluate_all)
        r->answers = pace_rows(r->pace, r->trainer->task, r->pace->answer);
    if (r->is_cut_off && r->answers > r->trainer->micro_batch) r->answers = r->trainer->micro_batch;
    return samples_answers(r->trainer, r->answers, exact, e);
}
