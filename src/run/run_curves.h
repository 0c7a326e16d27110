/* The charts of a run's page, from its tables. */
#pragma once

#include "formats/safetensors.h"
#include "pictures/picture.h"
#include "run/csv.h"

enum { CURVES = 5, CURVE_SERIES = 12, CURVE_TEXT = 512 };

/* A run's tables and notes, read from its directory. */
typedef struct RunTables {
    Csv metrics, steps;
    double characters; /* per token: losses are divided by them; 0: not a text */
    double unknown;    /* share of the held-out characters that [UNK] stands for */
} RunTables;

/* Reads RUN/metrics.csv and RUN/steps.csv; notes are those of frames.safetensors. Losses become nats per character. To be
 * freed, also after failure, with run_tables_free. */
bool run_tables_read(RunTables *t, const char *directory, const Safetensors *notes, Error *e);
void run_tables_free(RunTables *t);

/* The last value of a column of the metrics; NAN: there is none. */
double run_tables_last(const RunTables *t, const char *column);

/* The charts, and the arrays that they point into. */
typedef struct RunPictures {
    Picture picture[CURVES];
    int count;
    Series series[CURVES][CURVE_SERIES];
    double yard_x[2], yard_y[CURVE_SERIES][2];
    char text[CURVES][CURVE_TEXT];
} RunPictures;

/* Draws the tables and the yardsticks among the notes into p, which is valid as long as both. A chart without a value is
 * left out. */
void curves_draw(const RunTables *t, const Safetensors *notes, RunPictures *p);
