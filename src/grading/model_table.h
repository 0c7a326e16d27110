/* What gradcheck found about a model, on the terminal: a line a tensor. */
#ifndef GRADING_MODEL_TABLE_H
#define GRADING_MODEL_TABLE_H

#include "gradcheck/gradcheck.h"
#include "grading/batch_file.h"
#include <stdio.h>

/* Counted over all models. */
typedef struct ModelTotals {
    long models, parameters, elements, alone; /* elements: of the parameters; alone: moved by themselves */
    long passed, failed, inconclusive;        /* tensors */
    double worst[3];                          /* of the differences, the float pass and the port */
    char worst_at[3][2 * REPORT_NAME];
} ModelTotals;

/* The lines above the table. */
void model_table_heading(FILE *out, const Model *m, const PaddedBatch *b, double loss);

/* A tensor: its gradient against differences, its values against others; either may have no parts. Prints nothing
 * where out is NULL. */
void model_table_row(FILE *out, const CaseReport *differences, const CaseReport *values, ModelTotals *t);
void model_table_summary(FILE *out, const ModelTotals *t, double seconds);

#endif
