/* How far a long loop has come, on stderr: a bar that redraws itself where stderr is a terminal, a line now
 * and then where it is not. */
#ifndef REPORT_PROGRESS_H
#define REPORT_PROGRESS_H

#include "run/history.h"
#include <stdbool.h>

typedef struct Progress {
    const char *label;
    long total;
    bool quiet, terminal, unicode;
    double start, shown; /* seconds: begin, and when it last printed */
    long lines;          /* printed, where it is no terminal */
    History trend;       /* of what progress_note was told */
} Progress;

/* What there is to say about the work done. */
typedef struct Report {
    long done;         /* of total */
    const char *words; /* "loss 0.71" */
    const char *more;  /* said where there is room: "val 0.65"; "" for nothing */
    double rate;       /* of `unit` a second: 7300 */
    const char *unit;  /* "tokens/s" */
} Report;

/* A bar, or plain lines, for `total` steps; nothing where quiet. */
Progress progress_start(const char *label, long total, bool quiet);

/* Notes a number whose course is drawn beside the words where stderr is a terminal. */
void progress_note(Progress *p, double value);

/* Prints where the work stands, with the time left; only as often as is useful, and not at the end. */
void progress_show(Progress *p, const Report *r);

/* Ends the bar with a last line that stays, with the time taken. */
void progress_end(Progress *p, const Report *r);

/* Takes the bar off the terminal, so that something else can be printed; the next progress_show draws it
 * again. */
void progress_clear(Progress *p);

#endif
