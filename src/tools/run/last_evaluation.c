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

/* Rows of which each takes so many seconds. */
static long rows_of(const Run *r, double seconds) {
    const Task *task = r->trainer->task;
    return r->config->evaluate_all ? task->held_out : pace_rows(r->pace, task, seconds);
}

/* Of a text's questions, 200 are enough to tell a share of right answers. */
static long answers_of(const Run *r) {
    enum { QUESTIONS = 200 };
    const Task *task = r->trainer->task;
    if (!task_is_language_model(task)) return rows_of(r, r->pace->answer);
    bool all = r->config->evaluate_all || task->questions < QUESTIONS;
    return all ? task->questions : QUESTIONS;
}

static void begin(Watching *w, const Run *r, const char *label, long rows) {
    w->bar = progress_start(label, rows, r->config->quiet);
    w->start = clock_seconds();
}

bool run_evaluate_last(Run *r, Evaluation *v, double *exact, Error *e) {
    Trainer *t = r->trainer;
    Watching w = {.report = {.words = "", .more = "", .unit = "rows/s"},
                  .was_stopped = interrupt_signal()};
    EvaluationWatch watch = {goes_on, &w};
    long rows = rows_of(r, r->pace->row);
    begin(&w, r, "last evaluation", rows);
    bool ok = trainer_evaluate_watched(t, rows, &watch, v, e);
    progress_clear(&w.bar);
    if (!ok) return false;
    say_rows(r, v->rows);
    r->answers = answers_of(r);
    if (r->answers == 0) return true;
    begin(&w, r, "last answers", r->answers);
    bool lm = task_is_language_model(t->task);
    ok = (lm ? samples_questions : samples_answers)(t, &r->answers, &watch, exact, e);
    progress_clear(&w.bar);
    return ok;
}
