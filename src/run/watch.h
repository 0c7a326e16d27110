/* A few held-out rows whose attention and answers a run keeps at some evaluations. */
#ifndef RUN_WATCH_H
#define RUN_WATCH_H

#include "run/frames.h"
#include "training/trainer.h"

enum {
    WATCHED_ROWS = PAGE_SAMPLES - 1,
    WATCHED_TOKENS = 64, /* of a row */
    WATCHED_ANSWER = 68, /* tokens that are kept of an answer */
    /* The sum over all examples at one step: the page draws and prints each weight. */
    WATCHED_WEIGHTS = 40000,
    WATCHED_COUNTS = 12, /* modules whose counts are shown */
    WATCHED_PARTS = 64,
    WATCHED_SHARES = 256,
};

typedef struct WatchedRow {
    int32_t source[WATCHED_TOKENS], target_in[WATCHED_TOKENS], target_out[WATCHED_TOKENS];
    long n, m; /* tokens of source and of target */
} WatchedRow;

/* How often each part of a module was used, over all examples: NOTE_SHARES and the module's name. */
typedef struct WatchedCounts {
    char name[PARAMETER_NAME + 16], shares[WATCHED_SHARES];
    long count[WATCHED_PARTS];
    int n;
} WatchedCounts;

typedef struct Watch {
    WatchedRow row[WATCHED_ROWS];
    PageExample example[PAGE_EXAMPLES]; /* the first rows that are short enough */
    PageSample sample[PAGE_SAMPLES];    /* of all rows, and a generated text for a language model */
    int rows, examples, samples;
    int most; /* frames that fit a page */

    /* The newest look. */
    uint8_t *weights[PAGE_EXAMPLES][PAGE_GROUPS]; /* in one block */
    WatchedCounts counts[WATCHED_COUNTS];
    int counted;
    PageAnswer answer[PAGE_SAMPLES];
    int32_t tokens[PAGE_SAMPLES][WATCHED_ANSWER];

    /* Of a model that answers: the first sample whose newest answer is wrong, else the first, and its best answers. */
    const PageSample *searched;
    PageBeam beam[PAGE_BEAMS];
    int beams;
    int32_t beam_ids[PAGE_BEAMS][WATCHED_ANSWER + 1];
    double probability[PAGE_BEAMS][WATCHED_ANSWER + 1];
} Watch;

/* Chooses the rows that are short enough; *w is {0} before. */
bool watch_open(Watch *w, Trainer *t, Error *e);
void watch_close(Watch *w);

/* Computes attention and answers of all rows. */
bool watch_look(Watch *w, Trainer *t, Error *e);

/* Adds rows and the newest look to f, which points into w. */
void watch_add(const Watch *w, long step, Frames *f);

#endif
