/* A few held-out rows that a run is watched by: at chosen steps their attention is kept, and what the model answers. */
#ifndef REPORT_WATCH_H
#define REPORT_WATCH_H

#include "run/page.h"
#include "training/trainer.h"

enum {
    WATCHED_ROWS = 5,
    WATCHED_EXAMPLES = 3, /* rows whose attention is kept */
    WATCHED_STEPS = 24,
    WATCHED_TOKENS = 64, /* of a row */
};

typedef struct WatchedRow {
    int32_t source[WATCHED_TOKENS], target_in[WATCHED_TOKENS], target_out[WATCHED_TOKENS];
    long n, m; /* tokens of source and of target */
    char title[WATCHED_TOKENS * UTF8_MAX + 1];
} WatchedRow;

/* What was seen at one step. Its memory is one block with the Seen at its start. */
typedef struct Seen {
    long step;
    uint16_t *weights[WATCHED_EXAMPLES];
    PageAnswer answer[WATCHED_ROWS + 1];
} Seen;

typedef struct Watch {
    const char **token; /* texts by id */
    WatchedRow row[WATCHED_ROWS];
    PageExample example[WATCHED_EXAMPLES]; /* of the first rows that are short enough */
    PageSample sample[WATCHED_ROWS + 1];   /* of all rows; of a text, one more that goes on freely */
    int rows, examples, samples;

    Seen *seen[WATCHED_STEPS + 1]; /* [kept], by step */
    long kept, most, looks, every; /* looks so far, of which every so-many-th is kept, and the newest */

    PageFrame frame[WATCHED_STEPS]; /* the same, as a page has it */
    PageAnswer answer[WATCHED_ROWS + 1][WATCHED_STEPS];
} Watch;

/* Starts from {0} and chooses the rows: those that are short enough. Where no row is, nothing is watched. */
bool watch_open(Watch *w, Trainer *t, Error *e);
void watch_close(Watch *w);

/* Looks at all rows. What was seen longer ago is thinned out where the page would grow too large. */
bool watch_look(Watch *w, Trainer *t, long step, Error *e);

/* Puts examples, frames and samples on the page. They stay the watch's, and as they are until the next look. */
void watch_show(Watch *w, Page *p);

#endif
