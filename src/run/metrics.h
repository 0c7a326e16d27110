/* A run's measurements: one row for each evaluation, in metrics.csv and, with --json, on stdout. */
#ifndef RUN_METRICS_H
#define RUN_METRICS_H

#include "base/directory.h"
#include "base/file.h"
#include <stdbool.h>
#include <stdio.h>

typedef struct Metrics {
    const char *task;
    long step, tokens; /* updates, and target tokens trained on */
    double start;      /* of the run, on the clock of clock_seconds */
    double seconds;    /* of training and evaluation since then */
    long params;
    /* NAN: not measured */
    double train_loss;   /* mean since the last row, with label smoothing */
    double val_loss;     /* nats per held-out token, without label smoothing */
    double characters;   /* per held-out token; 0: not a text, or some are [UNK] */
    double unknown;      /* share of the held-out characters that [UNK] stands for */
    double val_accuracy; /* share of held-out tokens predicted, under teacher forcing */
    double val_exact;    /* share of held-out answers decoded without error */
    bool final;
    const char *warning; /* of overfitting, for the page; NULL: none */
} Metrics;

/* "1.4760 nats/char, 2.1294 bits/char, perplexity 28.20 a token"; "0.1050 nats/token" if not of a text; "0.1050 nats/token,
 * not comparable: 3.4 % of the characters are [UNK]". */
enum { LOSS_TEXT = 100 };
const char *metrics_loss_text(char out[LOSS_TEXT], double loss, const Metrics *m, int digits);

typedef struct MetricsFile {
    FILE *csv;
    Error error; /* the first failed write */
    char path[PATH_ROOM];
    File *place; /* of a file that replaces another: rows stay in memory until metrics_place; else NULL */
    char *rows;
    size_t size;
} MetricsFile;

/* Creates DIRECTORY/metrics.csv with its head line; with `replace`, the old file stays until metrics_place.
 * STATUS_CANNOT_CREATE, STATUS_NO_MEMORY. */
bool metrics_open(MetricsFile *f, const char *directory, bool replace, Error *e);

/* Takes a row that stays: step, tokens, seconds, parameters, and the measurements, NAN for those that it lacks. */
typedef void MetricsReader(void *context, const Metrics *m);

/* Continues DIRECTORY/metrics.csv after the row of step `evaluated`; drops later rows, and calls `read` for the others.
 * A file that lacks a row up to there, or has a damaged one, is first renamed, and stderr says so. Creates the file if
 * it does not exist. STATUS_CANNOT_CREATE, STATUS_IO. */
bool metrics_resume(MetricsFile *f, const char *directory, long evaluated, MetricsReader *read, void *context,
                    Error *e);

/* Replaces the old file. Reports a failure on stderr. */
void metrics_place(MetricsFile *f);

/* Writes the file again if it was deleted but its directory exists. */
void metrics_restore(MetricsFile *f);

/* Adds a row and flushes it. Reports the first failure on stderr. */
void metrics_write(MetricsFile *f, const Metrics *m);

/* STATUS_IO if a row could not be written. Rows not yet in place are lost. */
bool metrics_close(MetricsFile *f, Error *e);

/* Prints mean and standard deviation of the final rows of several runs on stderr. */
void metrics_show_spread(const Metrics *m, long count);

/* Prints the row as a line of JSON on stdout, and flushes it. */
void metrics_json(const Metrics *m);

#endif
