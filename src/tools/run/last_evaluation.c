/* The last evaluation of a run: of all held-out rows, or of as many as its time allows, evenly
 * spread. */
#include "base/interrupt.h"
#include "run/run.h"
#include <stdio.h>

typedef struct Watching {
    Progress bar;
    bool was_stopped; /* a signal had ended the training */
} Watching;

/* False: a signal has arrived. */
static bool goes_on(void *watching, long judged) {
    Watching *w = watching;
    progress_show_late(&w->bar, judged);
    return w->was_stopped || !interrupt_signal();
}

/* Says how many rows the last evaluation judges, if not all, and if the earlier ones judged another
 * number. */
static void say_rows(const Run *r, long judged) {
    char some[NUMBER_TEXT], all[NUMBER_TEXT], way[NUMBER_TEXT];
    const Task *task = r->trainer->task;
    const char *rows = task->max_S ? "pairs" : "windows";
    if (task->lines) rows = "lines";
    if (r->config->quiet) return;
    number_text(some, judged);
    if (judged < task->held_out)
        fprintf(stderr, "judged %s of %s held-out %s, evenly spread; --evaluate-all judges all\n",
                some, number_text(all, task->held_out), rows);
    if (judged != r->last.rows)
        fprintf(stderr, "val is over %s held-out %s, the last evaluation over %s\n",
                number_text(way, r->last.rows), rows, some);
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

bool run_evaluate_last(Run *r, Evaluation *v, double *exact, Error *e) {
    bool quiet = r->config->quiet;
    long rows = rows_of(r, r->pace->row);
    Watching w = {progress_start("last evaluation", "rows/s", rows, quiet), interrupt_signal()};
    EvaluationWatch watch = {goes_on, &w};
    bool ok = trainer_evaluate_watched(r->trainer, rows, &watch, v, e);
    progress_clear(&w.bar);
    if (!ok) return false;
    say_rows(r, v->rows);
    r->answers = answers_of(r);
    if (r->answers == 0) return true;
    w.bar = progress_start("last answers", "rows/s", r->answers, quiet);
    ok = samples_answers(r->trainer, &r->answers, &watch, exact, e);
    progress_clear(&w.bar);
    return ok;
}
