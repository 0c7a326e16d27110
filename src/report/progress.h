/* How far a long loop has come, on stderr: a bar that redraws itself where stderr is a terminal, a line now
 * and then where it is not. */
#ifndef REPORT_PROGRESS_H
#define REPORT_PROGRESS_H

#include <stdbool.h>

typedef struct Progress {
    const char *label;
    long total;
    bool quiet, terminal;
    double start, shown; /* seconds: begin, and when it last printed */
    long lines;          /* printed, where it is no terminal */
} Progress;

/* Seconds on a clock that only goes forward. */
double seconds_now(void);

Progress progress_start(const char *label, long total, bool quiet);

/* Says that `done` of total are done, at `rate` units ("tokens/s") a second, with a few words about them.
 * Prints only as often as is useful. */
void progress_show(Progress *p, long done, double rate, const char *unit, const char *words);

/* Ends the bar with a last line that stays. */
void progress_end(Progress *p, long done, double rate, const char *unit, const char *words);

#endif
