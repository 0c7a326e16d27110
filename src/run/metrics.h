/* A run's measurements: a row for each evaluation in metrics.csv and, with --json, on stdout; and rows for its steps in
 * steps.csv. */
#pragma once

#include "run/csv.h"
#include "training/trainer.h"

/* The evaluations of a run judge the same held-out rows, so that they can be compared; the last one is followed by one of
 * all held-out rows. NAN: not measured. */
typedef struct Metrics {
    const char *task;
    long step, tokens; /* updates, and target tokens trained on */
    double seconds;    /* of training and evaluation since the start of the run */
    long params;
    double train_loss; /* mean since the last row, with dropout and label smoothing */
    double val_loss,
        val_accuracy; /* nats per held-out token; share of them predicted, under teacher forcing */
    double val_exact; /* share of all held-out answers decoded without error */
    double final_loss, final_accuracy; /* of all held-out rows */
    double characters;                 /* per held-out token; 0: not a text, or some are [UNK] */
    double unknown;                    /* share of the held-out characters that [UNK] stands for */
} Metrics;

extern const char metrics_head[], steps_head[]; /* of metrics.csv and steps.csv */

/* Adds a row. */
void metrics_write(CsvFile *f, const Metrics *m);

/* Prints the row as a line of JSON on stdout, and flushes it. The val_… of the last row are those of all held-out rows. */
void metrics_json(const Metrics *m);

/* Steps that are not in steps.csv yet. A row is the mean of the steps since the row before; there are 128 to 256 rows
 * from any step to twice that step. Initially {0}. */
typedef struct StepSums {
    long steps;
    double loss, grad_norm, tokens, seconds;
} StepSums;

/* Adds a step that took so long, and writes a row where one is due. */
void metrics_step(StepSums *s, CsvFile *f, long step, const StepResult *r, double seconds);

/* " nats/char"; " nats/token" if not of a text; " nats/token, not comparable: 3.4 % of the characters are [UNK]". */
enum { LOSS_UNIT = 80 };
const char *metrics_unit(char out[LOSS_UNIT], double characters, double unknown);

/* A loss and its unit; of a text "1.4760 nats/char, 2.1294 bits/char, perplexity 28.20 a token". */
enum { LOSS_TEXT = 100 };
const char *metrics_loss_text(char out[LOSS_TEXT], double loss, const Metrics *m, int digits);
