/* A few held-out rows whose attention and answers are kept at some evaluations. */
#ifndef RUN_WATCH_H
#define RUN_WATCH_H

#include "run/page.h"
#include "training/trainer.h"

enum {
    WATCHED_ROWS = 5,
    WATCHED_EXAMPLES = 3, /* rows whose attention is kept */
    WATCHED_STEPS = 24,
    WATCHED_TOKENS = 64, /* of a row */
    WATCHED_ANSWER = 68, /* tokens that are kept of an answer */
    WATCHED_BEAMS = 3,
    /* The sum over all examples at one step: the page draws and prints each weight. */
    WATCHED_WEIGHTS = 40000,
};

typedef struct WatchedRow {
    int32_t source[WATCHED_TOKENS], target_in[WATCHED_TOKENS], target_out[WATCHED_TOKENS];
    long n, m; /* tokens of source and of target */
    char title[WATCHED_TOKENS * TOKEN_LABEL];
} WatchedRow;

/* Attention and answers at one step. */
typedef struct Seen {
    PageFrame frame; /* points to the following */
    uint8_t *weights[WATCHED_EXAMPLES], all_weights[WATCHED_WEIGHTS];
    PageAnswer answer[WATCHED_ROWS + 1];
    int32_t tokens[WATCHED_ROWS + 1][WATCHED_ANSWER];
} Seen;

typedef struct Watch {
    const char **token; /* texts by id */
    WatchedRow row[WATCHED_ROWS];
    PageExample example[WATCHED_EXAMPLES]; /* the first rows that are short enough */
    PageSample sample[WATCHED_ROWS + 1];   /* of all rows, and a generated text for a language model */
    int rows, examples, samples;

    Seen *seen[WATCHED_STEPS + 1]; /* [kept], by step */
    long kept, most, looks, every; /* looks: total, of which every `every`-th is kept, and the newest */

    PageFrame frame[WATCHED_STEPS]; /* theirs, for a page */

    /* Of a model that answers: the first sample whose newest answer is wrong, else the first, and its best answers. */
    const PageSample *searched;
    PageBeam beam[WATCHED_BEAMS];
    int beams;
    int32_t beam_ids[WATCHED_BEAMS][WATCHED_ANSWER + 1];
    double probability[WATCHED_BEAMS][WATCHED_ANSWER + 1];
} Watch;

/* Chooses the rows that are short enough; *w is {0} before. */
bool watch_open(Watch *w, Trainer *t, Error *e);
void watch_close(Watch *w);

/* Computes attention and answers of all rows. Drops older entries if the page would become too large. */
bool watch_look(Watch *w, Trainer *t, long step, Error *e);

/* Puts examples, frames and samples on the page, valid until the next watch_look. */
void watch_show(Watch *w, Page *p);

#endif
