/* Progress of a long loop on stderr: a bar on a terminal, otherwise a line for each tenth. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

typedef struct Progress {
    const char *label, *unit; /* unit: of the rate, "tok/s" */
    long done, total, before; /* steps; before: those that took no time here */
    double rate;              /* units per second */
    char words[64], more[64]; /* "loss 0.71"; shown if there is room: "val 0.65 at 400" */
    bool quiet, terminal;
    double start, shown; /* times of the start and of the last output; shown -1: none */
    long lines;          /* printed, if stderr is not a terminal */
} Progress;

/* "1:05", "2:03:04" */
const char *clock_text(char out[32], double seconds);

/* "1,317,632" */
enum { NUMBER_TEXT = 32 };
const char *number_text(char out[NUMBER_TEXT], long number);

/* A bar, or plain lines, for `total` steps; nothing if quiet. */
Progress progress_start(const char *label, const char *unit, long total, bool quiet);

/* Prints the state, and the time of the whole work, at most ten times a second, and not at the end.
 * False: it was not the time. */
bool progress_show(Progress *p);

/* The same for work that may be short: nothing in its first two seconds. The rate is of steps. */
void progress_show_late(Progress *p, long done);

/* Prints the last line, with the time taken. */
void progress_end(Progress *p);

/* Erases the bar, so that something else can be printed; the next progress_show redraws it. */
void progress_clear(Progress *p);

/* The same; on a terminal words and more stay, above the bar that is redrawn. */
void progress_keep(Progress *p);

/* Shows how much of a text is encoded, if that takes more than two seconds. */
void progress_encoding(size_t done, size_t all);
