/* Progress of a long loop on stderr: a bar on a terminal, otherwise a line for each tenth. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

typedef struct Progress {
    const char *label;
    long total,
        before; /* steps, and those of an earlier part of the run, which took no time here */
    bool quiet, terminal;
    double start, shown; /* times of the start and of the last output */
    long lines;          /* printed, if stderr is not a terminal */
} Progress;

/* The state of the work. */
typedef struct Report {
    long done;         /* of total */
    const char *words; /* "loss 0.71" */
    const char *more;  /* shown if there is room: "val 0.65 at 400"; or "" */
    double rate;       /* `unit` per second: 7300 */
    const char *unit;  /* "tokens/s" */
} Report;

/* "1:05", "2:03:04" */
const char *clock_text(char out[32], double seconds);

/* "1,317,632" */
enum { NUMBER_TEXT = 32 };
const char *number_text(char out[NUMBER_TEXT], long number);

/* A bar, or plain lines, for `total` steps; nothing if quiet. */
Progress progress_start(const char *label, long total, bool quiet);

/* Prints the state, and the time of the whole work, at most ten times a second, and not at the end.
 * False: it was not the time. */
bool progress_show(Progress *p, const Report *r);

/* Prints the last line, with the time taken. */
void progress_end(Progress *p, const Report *r);

/* Erases the bar, so that something else can be printed; the next progress_show redraws it. */
void progress_clear(Progress *p);

/* Reports on stderr, every two seconds, how much of a text is encoded. */
void progress_encoding(size_t bytes);
