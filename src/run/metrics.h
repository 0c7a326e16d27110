/* What a training run measures: one row an evaluation, in metrics.csv and, if asked for, as JSON lines on
 * stdout. */
#ifndef REPORT_METRICS_H
#define REPORT_METRICS_H

#include "base/directory.h"
#include "base/file.h"
#include <stdbool.h>
#include <stdio.h>

typedef struct Metrics {
    const char *task;
    long step, tokens; /* updates, and target tokens trained on, so far */
    double start;      /* when it began, on the clock of clock_seconds */
    double seconds;    /* since then: of training and evaluation */
    long params;
    /* NAN: not measured. */
    double train_loss;   /* mean since the last row, label smoothing included */
    double val_loss;     /* nats a held-out token, without smoothing */
    double val_accuracy; /* share of held-out tokens predicted, teacher-forced */
    double val_exact;    /* share of held-out answers decoded without a mistake */
    bool final;
} Metrics;

typedef struct MetricsFile {
    FILE *csv;
    Error error; /* the first that could not be written */
    char path[PATH_ROOM];
    File
        *place; /* where rows are to go that are to replace others, and are in memory until then; else NULL */
    char *rows;
    size_t size;
} MetricsFile;

/* Starts DIRECTORY/metrics.csv with its head line; where that of another run is to be replaced, it stands until
 * metrics_place. STATUS_CANNOT_CREATE, STATUS_NO_MEMORY. */
bool metrics_open(MetricsFile *f, const char *directory, bool replace, Error *e);

/* Continues DIRECTORY/metrics.csv after the row of step `evaluated`; drops later rows. *seconds is that of the last row. A
 * file that lacks a row up to there, or has a damaged one, is first renamed, and stderr says so. Creates the file if it
 * does not exist. STATUS_CANNOT_CREATE. */
bool metrics_resume(MetricsFile *f, const char *directory, long evaluated, double *seconds, Error *e);

/* Reads a row: step, tokens, seconds, parameters, and the measurements, NAN for those that it lacks. */
bool metrics_read(const char *line, Metrics *m);

/* Puts the file in its place. A failure is said on stderr. */
void metrics_place(MetricsFile *f);

/* Writes it again where it was deleted, its directory being there. */
void metrics_restore(MetricsFile *f);

/* Adds a row, and flushes it: a run that dies keeps what it measured. The first that fails is said on stderr. */
void metrics_write(MetricsFile *f, const Metrics *m);

/* STATUS_IO if a row could not be written. Rows that have not found their place are lost. */
bool metrics_close(MetricsFile *f, Error *e);

/* The same as one JSON object on a line of stdout, written out at once. */
void metrics_json(const Metrics *m);

#endif
